/** The errors of reads from an API server, each with its remedy. */
import { UserError } from '../base/user-error.ts'
import { ApiError, isForbidden, RequestError } from '../store/cluster/api-error.ts'
import type { StoreObserver } from '../store/observer.ts'
import type { UnavailableKind } from '../store/store.ts'

export type ReadError = Parameters<StoreObserver['error']>[0]

/** Objects cannot be read. The message has the remedy. */
class ReadFailedError extends UserError {
  override name = 'ReadFailedError'
  override readonly exitStatus = 1
}

/** The user may not list a kind. */
export class ForbiddenReadError extends ReadFailedError {
  override name = 'ForbiddenReadError'
}

/** Ends the first read of an API server with one error: at once if a retry cannot help, else after a timeout. */
export class ReadFailure {
  readonly #abort = new AbortController()
  readonly #server: string
  readonly #timer: NodeJS.Timeout
  readonly #wayOut: string | undefined
  #last: ReadError | undefined
  #ended = false

  /** @param wayOut what a user without the rights on all namespaces can do */
  constructor(server: string, { timeoutMs, wayOut }: { timeoutMs: number; wayOut?: string | undefined }) {
    this.#server = server
    this.#wayOut = wayOut
    this.#timer = setTimeout(() => {
      const reason = this.#last === undefined ? '' : `: ${this.#last.kind}: ${this.#last.message}`
      this.#fail(`objects could not be read within ${timeoutMs / 1000} s${reason}; try again`)
    }, timeoutMs)
  }

  /** Aborts with the error. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Whether the error belongs to the first read, whose single error is thrown. Retried errors of it are not printed one by one. */
  keeps(error: ReadError): boolean {
    if (this.#ended || error.retryInMs === undefined) return false
    this.#last = error
    const reason = hopeless(error, this.#wayOut)
    if (reason !== undefined) this.#fail(reason, isForbidden(error.error) ? ForbiddenReadError : ReadFailedError)
    return true
  }

  /** The first read has ended. */
  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
  }

  #fail(reason: string, Failure = ReadFailedError): void {
    this.#abort.abort(new Failure(`API server ${this.#server}: ${reason}`))
  }
}

/** Returns the error for an API server without the policies of Karmada, of which the user expected a hub. */
export function notHub(server: string): UserError {
  return new ReadFailedError(
    `API server ${server} is not a hub of Karmada; give the kubeconfig of the Karmada API server`,
  )
}

/** Returns the error for a user who may not list any kind of a namespace. */
export function nothingReadable(server: string, { message, type }: UnavailableKind): UserError {
  return new ReadFailedError(
    `API server ${server}: ${message}, and no other kind either; grant the user the verbs list and watch of ${type.kind}`,
  )
}

const RENEW = 'renew the token or certificate of the user'

/** Returns the error of a single request to an API server with its remedy; undefined for another error. */
export function requestFailure(error: unknown): UserError | undefined {
  if (!(error instanceof ApiError || error instanceof RequestError)) return undefined
  return new ReadFailedError(`${error.message}; ${requestRemedy(error)}`, { cause: error })
}

function requestRemedy(error: ApiError | RequestError): string {
  const status = error instanceof ApiError ? error.status : undefined
  if (status === 401) return RENEW
  return status === 403 ? 'grant the user this permission' : 'try again'
}

/** Describes an error that a retry repeats; undefined for the others. Kinds that may be missing report no 404. */
function hopeless({ kind, error }: ReadError, wayOut: string | undefined): string | undefined {
  if (!(error instanceof ApiError)) return undefined
  switch (error.status) {
    case 401:
      return `HTTP 401: the credentials are rejected; ${RENEW}`
    case 403:
      return `${error.message}; grant the user the verbs list and watch of ${kind}${wayOut === undefined ? '' : `, or ${wayOut}`}`
    case 404:
      return `${kind} is not installed; apply the CRDs: lodestone manifests crds | kubectl apply --server-side -f -`
    default:
      return undefined
  }
}
