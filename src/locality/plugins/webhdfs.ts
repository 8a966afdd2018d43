/** The plugin `webhdfs`: queries over WebHDFS or HttpFS whether a path of HDFS exists, and its size. */
import { members } from '../../core/locality/members.ts'
import type { Clock } from '../../time/clock.ts'
import type { SystemConfig, SystemDefinition } from '../config/config.ts'
import { type HttpResponse, openHttpClient } from '../http/http.ts'
import { readJson, tryJson } from '../http/json.ts'
import { openNameNodes } from './name-nodes.ts'
import { type LocalityAnswer, LocalityError, type LocalityPlugin, type LocalityQuery } from './plugin.ts'

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
  const nodes = openNameNodes(config.endpoint.urls, http, exceptionOf)
  const defaultFs = String(config.extra['defaultFs'] ?? `hdfs://${new URL(config.endpoint.urls[0] ?? '').hostname}`)
  const root = defaultFs.replace(/\/$/, '')

  const ask = (path: string, operation: string, signal: AbortSignal) =>
    nodes.send(`/webhdfs/v1${path}?op=${operation}`, signal)

  /**
   * The size of a path; undefined when it cannot be measured. A failed measurement does not fail the query, because it needs more rights
   * and time.
   */
  async function measure(path: string, status: FileStatus, signal: AbortSignal): Promise<number | undefined> {
    if (status.type !== 'DIRECTORY') return status.length
    if (config.extra['size'] === 'none') return undefined
    try {
      return parseSummary(await ask(path, 'GETCONTENTSUMMARY', signal))
    } catch (error) {
      if (error instanceof LocalityError) return undefined
      throw error
    }
  }

  return {
    system: config.system,
    locate: async (query, signal): Promise<LocalityAnswer> => {
      const path = parsePath(query)
      const encoded = path.split('/').map(encodeURIComponent).join('/')
      const response = await ask(encoded, 'GETFILESTATUS', signal)
      if (response.status === 404 && exceptionOf(response) === 'FileNotFoundException') {
        return { kind: 'nowhere', reason: `HDFS has no ${path}` }
      }
      if (response.status !== 200) throw refusal(response, http.refusal(response, exceptionOf(response)))
      const bytes = await measure(encoded, parseStatus(response), signal)
      return { kind: 'located', location: `${root}${path}`, ...(bytes !== undefined && { bytes }) }
    },
    health: async (signal) => {
      const response = await ask('/', 'GETFILESTATUS', signal)
      if (response.status !== 200) throw refusal(response, http.refusal(response, exceptionOf(response)))
      parseStatus(response)
    },
    close: () => http.close(),
  }
}

/** Parses an absolute path, or a URI of the same file system. */
function parsePath({ type, name }: LocalityQuery): string {
  if (!TYPES.includes(type)) throw new LocalityError('rejected', `${type}: must be one of ${TYPES.join(', ')}`)
  const path = name.replace(/^[a-z]+:\/\/[^/]*(?=\/)/i, '')
  const segments = path.split('/').filter((segment) => segment !== '')
  if (!path.startsWith('/') || segments.includes('.') || segments.includes('..')) {
    throw new LocalityError('rejected', `${name}: must be a path from the root, without . and ..`)
  }
  return `/${segments.join('/')}`
}

/** The class of the exception that Hadoop sends with every error. */
function exceptionOf(response: HttpResponse): string | undefined {
  const exception = members(members(tryJson(response))?.['RemoteException'])?.['exception']
  return typeof exception === 'string' && /^[A-Za-z]{1,80}$/.test(exception) ? exception : undefined
}

/** The error for an unsuccessful response. Hadoop sends 403 for every I/O error, so its exception decides whether access was denied. */
function refusal(response: HttpResponse, byStatus: LocalityError): LocalityError {
  const exception = exceptionOf(response)
  const isAccess = exception === undefined || /^(?:AccessControl|Security|Authorization|InvalidToken)/.test(exception)
  return response.status === 403 && !isAccess ? new LocalityError('serverError', byStatus.message) : byStatus
}

interface FileStatus {
  type: string
  length: number
}

function parseStatus(response: HttpResponse): FileStatus {
  const { type, length } = members(members(readJson(response))?.['FileStatus']) ?? {}
  if (typeof type === 'string' && typeof length === 'number') return { type, length }
  throw new LocalityError('invalidResponse', `${response.what}: the answer is not a file's status`)
}

function parseSummary(response: HttpResponse): number | undefined {
  const length = members(members(tryJson(response))?.['ContentSummary'])?.['length']
  return response.status === 200 && typeof length === 'number' ? length : undefined
}
