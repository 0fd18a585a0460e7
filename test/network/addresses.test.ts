/** Which addresses are public. */
import { describe, expect, test } from 'vitest';
import {
  addressBytes,
  addressRange,
  isPublicAddress,
  isWithin,
} from '../../packages/core/src/network/addresses.ts';

describe('public address', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '172.15.0.1',
    '172.32.0.1',
    '192.167.1.1',
    '2606:4700::1111',
    '2a00:1450:4001::5',
  ])('%s is one', (address) => expect(isPublicAddress(address)).toBe(true));

  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.255',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.1',
    '192.168.0.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '3fff::1',
    '5f00::1',
    '',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '256.1.1.1',
    '1::2::3',
    '12345::',
    '::g',
    'fe80::1%eth0',
  ])('%j is none', (address) => expect(isPublicAddress(address)).toBe(false));
});

describe('address range', () => {
  test.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['192.168.1.16/28', '192.168.1.31', true],
    ['192.168.1.16/28', '192.168.1.32', false],
    ['fd00::/8', 'fd12::1', true],
    ['fd00::/8', 'fe00::1', false],
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '127.0.0.2', false],
  ])('%s contains %s: %s', (range, address, expected) =>
    expect(isWithin(addressBytes(address)!, addressRange(range)!)).toBe(expected),
  );

  test.each(['10.0.0.0/33', '::/129', 'x', '10.0.0/8', '10.0.0.0/x'])('%s is rejected', (text) =>
    expect(addressRange(text)).toBeUndefined(),
  );
});
