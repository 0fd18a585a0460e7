export declare const PNG: string;
