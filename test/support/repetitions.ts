/** How often randomised tests repeat: a few times in `npm test`, many times in `npm run test:nightly`. */
export const isNightly = process.env['NIGHTLY_TESTS'] === '1';

export const repetitions = (usual: number, atNight: number): number => (isNightly ? atNight : usual);
