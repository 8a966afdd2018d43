/** The description of a source for its mover. */
import type { EnvVar } from '../../../api/pod.ts'

export interface MoverSource {
  /** `s3://bucket/key` or `az://container/key`; a prefix ends in a slash. For another mover image, it is the URL in the spec. */
  url: string
  endpoint: string | undefined
  /** Undefined when the mover reads it from the server. */
  region: string | undefined
  /** How the mover verifies the data; undefined for the default, by checksum. */
  verify: string | undefined
  env: EnvVar[]
  /** Further options of the mover about requests to the server. */
  requests: string[]
  /** The directory of the data in the volume. */
  folder?: string
}
