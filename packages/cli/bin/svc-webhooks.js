#!/usr/bin/env node
// npm links the programs of a workspace when it installs, before anything is built.
await import("#main");
