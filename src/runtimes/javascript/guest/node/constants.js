/** The module `constants`. */
import { constants } from './internal/fs-values.js';
import os from './os.js';

export default { ...os.constants.errno, ...os.constants.signals, ...constants };
