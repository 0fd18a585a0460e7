/** Writes zip archives, valid ones and ones whose fields contradict each other or their contents. */
import { crc32, deflateRawSync } from 'node:zlib';

/** A member of an archive. What is not given follows from `data`. */
export interface ZipMember {
  readonly name: string;
  readonly data: string | Uint8Array;
  readonly deflated?: boolean;
  /** Forged fields of the directory. */
  readonly size?: number;
  readonly packed?: number;
  readonly crc?: number;
  readonly method?: number;
  readonly flags?: number;
  /** Type and permissions, as on Unix. */
  readonly mode?: number;
  /** The name in the local header. */
  readonly localName?: string;
  /** Shares the local header and data with the member of this number. */
  readonly sameAs?: number;
}

/** The bytes of an archive. Nothing is checked. `end` has forged fields of the end record. */
export function zipBytes(
  members: readonly ZipMember[],
  end: { readonly count?: number; readonly start?: number; readonly comment?: string } = {},
): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const member of members) {
    const content = Buffer.from(member.data);
    const data = member.deflated ? deflateRawSync(content) : content;
    const fields = (name: Buffer) => {
      const common = Buffer.alloc(26);
      common.writeUInt16LE(20, 0);
      common.writeUInt16LE(member.flags ?? 0, 2);
      common.writeUInt16LE(member.method ?? (member.deflated ? 8 : 0), 4);
      common.writeUInt32LE(member.crc ?? crc32(content), 10);
      common.writeUInt32LE(member.packed ?? data.length, 14);
      common.writeUInt32LE(member.size ?? content.length, 18);
      common.writeUInt16LE(name.length, 22);
      return common;
    };
    const name = Buffer.from(member.name);
    const localName = Buffer.from(member.localName ?? member.name);
    const at = member.sameAs === undefined ? offset : offsets[member.sameAs]!;
    offsets.push(at);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(((member.mode ?? 0) << 16) >>> 0, 6);
    tail.writeUInt32LE(at, 10);
    const madeBy = Buffer.from([20, member.mode === undefined ? 0 : 3]);
    central.push(Buffer.concat([Buffer.from('PK\x01\x02'), madeBy, fields(name), tail, name]));
    if (member.sameAs !== undefined) continue;
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields(localName), localName, data]);
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(central);
  const comment = Buffer.from(end.comment ?? '');
  const last = Buffer.alloc(22);
  last.write('PK\x05\x06');
  last.writeUInt16LE(end.count ?? central.length, 8);
  last.writeUInt16LE(end.count ?? central.length, 10);
  last.writeUInt32LE(directory.length, 12);
  last.writeUInt32LE(end.start ?? offset, 16);
  last.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...parts, directory, last, comment]);
}
