import type { Plugin } from "rolldown";

export declare const extensionAlias: Record<string, string[]>;

export declare const texts: Pick<Plugin, "name" | "load">;
