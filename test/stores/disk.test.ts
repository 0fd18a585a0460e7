import { diskStore } from '../../src/stores/disk/disk-store.ts';
import { contract } from './contract.ts';
import { scratch } from './support.ts';

contract('diskStore', () => diskStore(scratch()));
contract('diskStore that does not wait for the disk', () => diskStore(scratch(), { survives: 'kill' }));
