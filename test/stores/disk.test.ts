import { diskStore } from '../../src/stores/disk.ts';
import { contract } from './contract.ts';
import { scratch } from './support.ts';

contract('diskStore', () => diskStore(scratch()));
