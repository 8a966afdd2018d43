/** The version in which an API server serves a kind. */
import type { KindCache } from '../../cache/cached-store.ts'
import { ApiError } from '../api-error.ts'

/** The fields of a kind that a request needs. */
type RequestedKind = Pick<KindCache, 'type' | 'metadataOnly'>

export class ServedVersion {
  /** The kind in the version that was served last; before the first success, in its first version. */
  kind: RequestedKind
  readonly #versions: readonly string[]

  constructor({ type, metadataOnly }: RequestedKind) {
    this.kind = { type, metadataOnly }
    this.#versions = [type.version, ...(type.otherVersions ?? [])]
  }

  /** Tries the versions in turn, beginning with the one that was served last. Throws the 404 of the last one, or any other error. */
  async find<T>(list: (kind: RequestedKind) => Promise<T>): Promise<T> {
    const others = this.#versions.filter((version) => version !== this.kind.type.version)
    for (;;) {
      try {
        return await list(this.kind)
      } catch (error) {
        const version = error instanceof ApiError && error.status === 404 ? others.shift() : undefined
        if (version === undefined) throw error
        this.kind = { ...this.kind, type: { ...this.kind.type, version } }
      }
    }
  }
}
