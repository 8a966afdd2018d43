/** Cuts the messages in a status that has too many bytes of them: an object has at most 1.5 MiB. */
import type { VolumeStatus } from '../../../api/volume-status.ts'
import { defined } from '../../../base/json.ts'
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

interface WithMessages {
  message?: string
  lastFailure?: string
}

function mapMessages(volumes: readonly VolumeStatus[], map: (message: string) => string): VolumeStatus[] {
  const mapped = (message: string | undefined) => (message === undefined ? undefined : map(message))
  /** The part of a status with its own messages. */
  const withOwn = <T extends WithMessages>(part: T): T => ({
    ...part,
    ...defined({ message: mapped(part.message), lastFailure: mapped(part.lastFailure) }),
  })
  return volumes.map((volume) => ({
    ...withOwn(volume),
    ...defined({
      replicas: volume.replicas?.map((replica) => ({
        ...withOwn(replica),
        ...defined({
          upload: replica.upload && withOwn(replica.upload),
          maintenance: replica.maintenance && withOwn(replica.maintenance),
        }),
      })),
      deletions: volume.deletions?.map((deletion) => withOwn(deletion)),
    }),
  }))
}
