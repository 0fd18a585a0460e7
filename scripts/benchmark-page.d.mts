/** The page with the figures that the tables of one benchmark contain; the other figures stay. */
export function withFigures(page: string, benchmark: string, text: string): string;
