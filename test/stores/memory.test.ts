import { memoryStore } from '../../src/stores/memory.ts';
import { contract } from './contract.ts';

contract('memoryStore', memoryStore);
