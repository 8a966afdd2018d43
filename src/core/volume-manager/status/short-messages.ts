/** Cuts the messages in a status that has too many bytes of them: an object has at most 1.5 MiB. */
import type { VolumeStatus } from '../../../api/volume-status.ts'
import { jsonBytes } from '../../admission/object-size.ts'
import { cut } from '../../outcome.ts'

/** Of all messages of a VolumeManager together. The estimate at admission leaves so much of the object for them. */
const MAX_MESSAGES_BYTES = 512_000

/** The most bytes of a UTF-16 code unit in UTF-8. */
const BYTES_PER_UNIT = 3

/**
 * Returns the volumes with messages that fit into a status. A message is cut only if it has more than its equal share. It is the same in each
 * plan, so that the status does not change.
 */
export function withShortMessages(volumes: readonly VolumeStatus[]): VolumeStatus[] {
  let [bytes, count] = [0, 0]
  const measured = mapMessages(volumes, (message) => {
    bytes += jsonBytes(message)
    count += 1
    return message
  })
  if (bytes <= MAX_MESSAGES_BYTES) return measured
  const share = Math.floor(MAX_MESSAGES_BYTES / count)
  return mapMessages(volumes, (message) =>
    jsonBytes(message) <= share ? message : cut(message, Math.floor(share / BYTES_PER_UNIT)),
  )
}

function mapMessages(volumes: readonly VolumeStatus[], map: (message: string) => string): VolumeStatus[] {
  /** The part of a status with its own messages. */
  function withOwn<T extends { message?: string; lastFailure?: string }>(part: T): T {
    const { message, lastFailure } = part
    return {
      ...part,
      ...(message !== undefined && { message: map(message) }),
      ...(lastFailure !== undefined && { lastFailure: map(lastFailure) }),
    }
  }
  return volumes.map((volume) => ({
    ...withOwn(volume),
    ...(volume.replicas && {
      replicas: volume.replicas.map((replica) => ({
        ...withOwn(replica),
        ...(replica.upload && { upload: withOwn(replica.upload) }),
        ...(replica.maintenance && { maintenance: withOwn(replica.maintenance) }),
      })),
    }),
    ...(volume.deletions && { deletions: volume.deletions.map(withOwn) }),
  }))
}
