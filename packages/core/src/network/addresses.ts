/**
 * Which addresses may be connected to. Only addresses of the public internet are, unless a rule names others. Addresses that
 * contain an IPv4 address are refused as a whole: they could lead to any network.
 */

/** An address as 16 bytes. IPv4 addresses are mapped into IPv6. */
type AddressBytes = readonly number[];

interface AddressRange {
  readonly bytes: AddressBytes;
  /** Number of leading bits that are compared. */
  readonly bits: number;
}

const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255];

function ipv4Bytes(text: string): number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || parts.some((part) => !/^(?:0|[1-9]\d{0,2})$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function ipv6Groups(text: string): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [i, part] of parts.entries()) {
    const ipv4 = i === parts.length - 1 && part.includes('.') ? ipv4Bytes(part) : undefined;
    if (ipv4 !== undefined) groups.push(ipv4[0]! * 256 + ipv4[1]!, ipv4[2]! * 256 + ipv4[3]!);
    else if (/^[\da-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}

function ipv6Bytes(text: string): number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map(ipv6Groups);
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  const missing = 8 - head.length - (tail?.length ?? 0);
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...head, ...Array.from({ length: missing }, () => 0), ...(tail ?? [])];
  return groups.flatMap((group) => [group >> 8, group & 255]);
}

/** The bytes of an address in its usual notation, with or without brackets; undefined if it is not an address. */
export function addressBytes(text: string): AddressBytes | undefined {
  const plain = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const ipv4 = ipv4Bytes(plain);
  return ipv4 === undefined ? ipv6Bytes(plain) : [...MAPPED, ...ipv4];
}

/** Reads an address or a range, such as `10.0.0.0/8`. */
export function addressRange(text: string): AddressRange | undefined {
  const [address, length] = text.split('/') as [string, string?];
  const bytes = addressBytes(address);
  if (bytes === undefined) return undefined;
  const total = address.includes(':') ? 128 : 32;
  const bits = length === undefined ? total : Number(length);
  if (!Number.isInteger(bits) || bits < 0 || bits > total) return undefined;
  return { bytes, bits: bits + 128 - total };
}

export function isWithin(address: AddressBytes, { bytes, bits }: AddressRange): boolean {
  for (let i = 0; i * 8 < bits; i++) {
    const compared = Math.min(8, bits - i * 8);
    const mask = (0xff00 >> compared) & 0xff;
    if ((address[i]! & mask) !== (bytes[i]! & mask)) return false;
  }
  return true;
}

const ranges = (text: string) => text.split(' ').map((one) => addressRange(one)!);

/** The special-purpose addresses of the IANA registry that are not reachable from everywhere, multicast and reserved ones. */
const NOT_PUBLIC_IPV4 = ranges(
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
);
const IPV4 = addressRange('::ffff:0:0/96')!;
/** Global unicast addresses. All others are refused: local, mapped, translated (64:ff9b::/96), multicast. */
const PUBLIC_IPV6 = addressRange('2000::/3')!;
/** Special-purpose addresses among them: protocol assignments with Teredo, documentation, 6to4. */
const NOT_PUBLIC_IPV6 = ranges('2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20');

/** Whether an address belongs to the public internet. Addresses in IPv6 notation that are IPv4 addresses do not. */
export function isPublicAddress(text: string): boolean {
  const bytes = addressBytes(text);
  if (bytes === undefined) return false;
  if (isWithin(bytes, IPV4))
    return !text.includes(':') && !NOT_PUBLIC_IPV4.some((range) => isWithin(bytes, range));
  return isWithin(bytes, PUBLIC_IPV6) && !NOT_PUBLIC_IPV6.some((range) => isWithin(bytes, range));
}
