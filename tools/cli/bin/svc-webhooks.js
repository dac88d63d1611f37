#!/usr/bin/env node
// npm links the programs of a workspace while installing, before anything is built.
await import("#main");
