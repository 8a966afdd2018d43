/**
 * The plugin `webhdfs`: queries over WebHDFS or HttpFS whether a path of HDFS exists, and its size. An answer needs the status of the path.
 * Its size is optional.
 */
import { defined, isCount } from '../../base/json.ts'
import type { Clock } from '../../base/time/clock.ts'
import { namesPath } from '../answers/absence-message.ts'
import { type FileSystem, pathIn } from '../answers/file-system.ts'
import { withoutRegions } from '../answers/location.ts'
import { type Members, members } from '../answers/members.ts'
import type { SystemConfig, SystemDefinition } from '../config/config.ts'
import { openFailover } from '../failover.ts'
import { type HttpClient, type HttpResponse, openHttpClient } from '../http/http.ts'
import { readJson, tryJson } from '../http/json.ts'
import { type LocalityAnswer, LocalityError, type LocalityPlugin, type LocalityQuery, optional } from '../locality.ts'

export const webhdfs: SystemDefinition = {
  endpoint: 'several',
  auth: ['none', 'simple', 'delegation', 'basic', 'bearer'],
  extra: {
    /** The file system of the paths, such as `hdfs://nameservice1`; default: the host of the first NameNode. */
    defaultFs: { type: 'string', pattern: '^[a-z]+://[^/]+/?$' },
    /** With `none`, directories are not measured, which is expensive for large trees. */
    size: { enum: ['summary', 'none'] },
  },
  open: openWebhdfs,
}

const TYPES = ['path', 'directory', 'file']

function openWebhdfs(config: SystemConfig, clock: Clock): LocalityPlugin {
  const http = openHttpClient(config, clock)
  const failover = openFailover(config.endpoint.urls)
  const defaultFs = String(config.extra['defaultFs'] ?? `hdfs://${new URL(config.endpoint.urls[0] ?? '').hostname}`)
  const fileSystem = { root: defaultFs.replace(/\/$/, ''), servers: config.endpoint.urls }

  const ask = (path: string, operation: string, signal: AbortSignal) =>
    failover((url) => askNameNode(http, `${url}/webhdfs/v1${path}?op=${operation}`, signal), signal)

  /**
   * The size of a path; undefined when it cannot be measured. A failed measurement does not fail the query, because it needs more rights
   * and time.
   */
  async function measure(path: string, status: FileStatus, signal: AbortSignal): Promise<number | undefined> {
    if (status.type !== 'DIRECTORY') return status.length
    if (config.extra['size'] === 'none') return undefined
    const summary = await optional(ask(path, 'GETCONTENTSUMMARY', signal))
    return summary && parseSummary(summary)
  }

  return {
    system: config.system,
    locate: async (query, signal): Promise<LocalityAnswer> => {
      const path = parsePath(query, fileSystem)
      const encoded = path.split('/').map(encodePart).join('/')
      const response = await ask(encoded, 'GETFILESTATUS', signal)
      if (response.status === 404 && hadoopException(response) === 'FileNotFoundException') {
        if (!namesPath(String(remoteException(response)?.['message']), path))
          throw new LocalityError('rejected', `${response.what}: ${READ_OTHERWISE}`)
        return { kind: 'nowhere', reason: `HDFS has no ${path}` }
      }
      if (response.status !== 200) throw refusal(response, http)
      const status = parseStatus(response)
      if (status.type === 'SYMLINK') throw new LocalityError('rejected', `${query.name}: ${SYMLINK}`)
      const bytes = await measure(encoded, status, signal)
      return defined({ kind: 'located', location: withoutRegions(`${fileSystem.root}${path}`), bytes })
    },
    health: async (signal) => {
      const response = await ask('/', 'GETFILESTATUS', signal)
      if (response.status !== 200) throw refusal(response, http)
      parseStatus(response)
    },
    close: () => http.close(),
  }
}

/** The path of a query. A name of another file system is an error, and no proof that the data does not exist. */
function parsePath({ type, name }: LocalityQuery, fileSystem: FileSystem): string {
  if (!TYPES.includes(type)) throw new LocalityError('rejected', `${type}: must be one of ${TYPES.join(', ')}`)
  const named = pathIn(fileSystem, name)
  if ('path' in named) return named.path
  throw new LocalityError('rejected', named.refusal)
}

/** Encodes a part of a path. The characters of partitions stay, as in Hadoop's own client: some servers do not decode them. */
function encodePart(part: string): string {
  return encodeURIComponent(part).replace(/%(?:3D|2C|40)/g, decodeURIComponent)
}

const READ_OTHERWISE =
  'the server reads the name as another one, as with HDFS-14423; upgrade it, or rename the path without special characters'
const SYMLINK = 'cannot be located: it is a symbolic link, perhaps into another file system; name its target'

function remoteException(response: HttpResponse): Members | undefined {
  return members(members(tryJson(response))?.['RemoteException'])
}

/** The class of the exception that Hadoop sends with every error. */
function hadoopException(response: HttpResponse): string | undefined {
  const exception = remoteException(response)?.['exception']
  return typeof exception === 'string' && /^[A-Za-z]{1,80}$/.test(exception) ? exception : undefined
}

/** The error for an unsuccessful response. Hadoop sends 403 for every I/O error, so its exception decides whether access was denied. */
function refusal(response: HttpResponse, http: HttpClient): LocalityError {
  const exception = hadoopException(response)
  const error = http.refusal(response, exception)
  const isAccess = exception === undefined || /^(?:AccessControl|Security|Authorization|InvalidToken)/.test(exception)
  return response.status === 403 && !isAccess ? new LocalityError('serverError', error.message) : error
}

interface FileStatus {
  type: string
  length: number | undefined
}

function parseStatus(response: HttpResponse): FileStatus {
  const { type, length } = members(members(readJson(response))?.['FileStatus']) ?? {}
  if (typeof type === 'string') return { type, length: isCount(length) ? length : undefined }
  throw new LocalityError('invalidResponse', `${response.what}: the answer is not a file's status`)
}

function parseSummary(response: HttpResponse): number | undefined {
  const length = members(members(tryJson(response))?.['ContentSummary'])?.['length']
  return response.status === 200 && typeof length === 'number' ? length : undefined
}

/** Exceptions of a NameNode that is not active or is still starting, and of a router of federated file systems. */
const ELSEWHERE = new Set([
  'StandbyException',
  'RetriableException',
  'ObserverRetryOnActiveException',
  'RouterSafeModeException',
])

/** Sends a GET to a server. Throws if it cannot answer, so that another one is asked. Other responses are final. */
async function askNameNode(http: HttpClient, url: string, signal: AbortSignal): Promise<HttpResponse> {
  const response = await http.exchange({ method: 'GET', url }, signal)
  const exception = hadoopException(response)
  if (exception !== undefined && ELSEWHERE.has(exception)) {
    throw new LocalityError('unavailable', `${response.what}: ${exception}`)
  }
  if (response.status >= 500 || response.status === 429) throw http.refusal(response, exception)
  return response
}
