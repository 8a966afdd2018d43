/** The interface of a protocol: what downloads and uploads need from a server of objects. */
import type { FileHandle } from 'node:fs/promises'
import type { Checksum } from '../../base/checksum.ts'
import type { ListedObject, ListingPage, ObjectPlace } from '../../base/objects.ts'
import type { RetryOptions } from '../http/backoff.ts'
import type { HttpClient } from '../http/client.ts'
import type { HttpBody, HttpRequest, HttpResponse, SinkFor } from '../http/messages.ts'
import type { RefusalError } from '../http/server-error.ts'
import type { Progress } from '../progress.ts'

/** A request to a bucket or container. */
export interface ObjectRequest {
  method: HttpRequest['method']
  /** Empty for the bucket or container. */
  key: string
  query?: Record<string, string>
  /** With names in lower case. */
  headers?: Record<string, string>
  body?: HttpBody
}

/** The objects of one bucket or container. */
export interface ObjectStore {
  readonly retry: RetryOptions
  /** The URL of an object for messages, without credentials. */
  objectUri(key: string): string
  /** Why no object can have this key; undefined if one can. */
  keyFault(key: string): string | undefined
  /** Lists one page of the objects below a prefix, with retries. Throws a `MoverError`, also for an answer that is no page. */
  list(prefix: string, token: string | undefined, signal: AbortSignal): Promise<ListingPage>
  /** Requests the attributes of an object, with retries. Throws a `MoverError`. */
  head(key: string, signal: AbortSignal): Promise<HttpResponse['headers']>
  /** Makes one attempt to read an object, or a range of it, and returns the response of any status. */
  get(key: string, headers: ReadHeaders, signal: AbortSignal, receive: SinkFor): Promise<HttpResponse>
  /** The checksum of the whole object; undefined without one. The headers may be incomplete: the ETag of the listing is enough. */
  checksumOf(headers: Readonly<Record<string, string | undefined>>): Checksum | undefined
  /** The error for a response of status 300 or above to a request for an object. */
  errorOf(key: string, answer: HttpResponse): RefusalError
  /** Whether a response of status 404 says that the object is missing, and not its bucket or container. */
  isObjectMissing(answer: HttpResponse): boolean
  /** Whether an object has the content of a file of the same size. It calls `looked` with the number of bytes of each part that it read. */
  hasContent(
    object: ListedObject,
    file: LocalFile,
    signal: AbortSignal,
    looked: (bytes: number) => void,
  ): Promise<boolean>
  /**
   * Uploads a file and returns the ETag of the object. Throws a `MoverError`: `SourceChanged` when the object is not the expected one,
   * `ChecksumMismatch` when the server stored other data.
   */
  upload(
    key: string,
    file: LocalFile,
    expected: ExpectedObject,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<string>
  /** Aborts an upload in parts. Absent for a server that deletes such parts itself. Throws a `MoverError`, also if it has ended. */
  abort?(upload: PendingUpload, signal: AbortSignal): Promise<void>
}

/**
 * The object that a write expects: none, or one with this ETag. The write keeps the attributes in its response headers that are not of its
 * content, such as its type and its metadata.
 */
export type ExpectedObject = 'absent' | { etag: string; headers: Readonly<Record<string, string | undefined>> }

/** A file of one part is sent whole. */
export interface LocalFile {
  file: FileHandle
  size: number
  partSize: number
  /** Records an upload in parts on a server that keeps the parts of uploads without an end. */
  pending?: Pick<PendingUploads, 'begin' | 'end'>
}

/** An upload in parts. */
export interface PendingUpload {
  key: string
  id: string
}

/** The uploads in parts that have not ended. */
export interface PendingUploads {
  begin(upload: PendingUpload): void
  end(upload: PendingUpload): void
  close(): Promise<void>
}

export interface ReadHeaders {
  range?: string
  'if-match'?: string
  'accept-encoding'?: string
}

/** How to reach a server. The options that only one protocol has come from the command line. */
export interface ServerOptions {
  place: ObjectPlace
  /** Without a slash at the end. */
  endpoint: string
  region: string | undefined
  pathStyle: boolean | undefined
  /** Whether an upload to S3 is damaged if the ETag of its object is another MD5. */
  trustsEtags: boolean
  /** Headers of every request to S3, with names in lower case. */
  headers: Readonly<Record<string, string>>
  /** The directory of a mounted Secret; without it, the credentials are in the environment. */
  credentials: string | undefined
  env: Readonly<Record<string, string | undefined>>
  /** For servers on the link of the node that give credentials, without a proxy. */
  agentHttp: HttpClient
  retry: RetryOptions
  /** Milliseconds since the epoch. */
  now: () => number
}

/** An entry of the table of protocols. */
export interface Protocol {
  /** The forms of a URL, for messages. */
  forms: string
  /** Undefined if the server must be named. */
  defaultEndpoint?: string
  /** The place of a URL; undefined for the URL of another protocol. */
  parse(url: string): ObjectPlace | undefined
  /** Opens the bucket or container. It is called only when there is data to move. */
  open(options: ServerOptions, http: HttpClient, signal: AbortSignal): Promise<ObjectStore>
}

/** The ETag of a header or a listing without its quotes; empty if there is none. */
export function unquoteEtag(etag = ''): string {
  return etag.replace(/^(?:W\/)?"|"$/g, '')
}
