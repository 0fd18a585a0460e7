/** Tests run the sources; threads and guests are what is built. */
import { fileURLToPath } from 'node:url';
import { useInstallFolder } from '../../packages/core/src/host/install-folder.ts';

useInstallFolder(fileURLToPath(new URL('../../packages/core/dist/', import.meta.url)));
