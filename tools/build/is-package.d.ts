export declare const isPackage: (id: string) => boolean;
