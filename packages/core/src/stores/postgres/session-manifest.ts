/** Decodes the manifest in the row of a session and checks that it belongs to that session. */
import { decodeSessionManifest, type SessionManifest } from '../format/session-codec.ts';
import { damaged } from '../format/stored-json.ts';

/** Throws `session_damaged` if the bytes are not the manifest of this session. */
export function decodeManifest(id: string, bytes: unknown): SessionManifest {
  const manifest = decodeSessionManifest(bytes as Uint8Array, 'manifest');
  if (manifest.record.session_id !== id) throw damaged('manifest', 'belongs to another session');
  return manifest;
}
