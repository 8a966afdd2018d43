/** Reads the last lines of the log of a container. The API server fetches them from the node. */
import type { PodLogReader } from '../store.ts'
import type { ApiConnection } from './api-connection.ts'
import { readText } from './transport.ts'

/** Protects the memory from logs with very long lines. The API server cuts the text at its end. */
const MAX_BYTES = 1024 * 1024

export function openPodLogs(connection: ApiConnection): PodLogReader {
  return async ({ namespace = 'default', name, container, lines, signal }) => {
    const query = { container, tailLines: lines, limitBytes: MAX_BYTES }
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log`
    return readText(await connection.stream(path, { query, signal, accept: '*/*' }), 2 * MAX_BYTES)
  }
}
