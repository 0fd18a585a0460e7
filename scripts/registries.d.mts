export declare function registries(): [path: string, text: string][];
