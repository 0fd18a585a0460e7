export function chartExamples(): { runtime: 'python' | 'javascript'; code: string; picture: string }[];
