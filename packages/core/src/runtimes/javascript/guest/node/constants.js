/** The module `constants`. */

import { os } from '../os.js';
import { constants } from './internal/fs-values.js';

export default { ...os.constants.errno, ...os.constants.signals, ...constants };
