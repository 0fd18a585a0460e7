/**
 * Property tests check the same cases in every `npm test`, so that a failure is caused by the change at hand. The nightly
 * tests choose a new seed each time, which a failure reports.
 */
import fc from 'fast-check';
import { isNightly } from './repetitions.ts';

if (!isNightly) fc.configureGlobal({ seed: 20_261_116 });
