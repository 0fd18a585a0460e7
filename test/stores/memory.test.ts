import { memoryStore } from '../../src/stores/memory/memory-store.ts';
import { contract } from './contract.ts';

contract('memoryStore', memoryStore);
