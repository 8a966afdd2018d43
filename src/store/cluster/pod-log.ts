/** Reads the end of what a container wrote to its log; the API server fetches it from the node. */

import type { PodLogReader } from '../store.ts'
import type { ApiConnection } from './api-connection.ts'
import { readText } from './transport.ts'

/** The API server cuts the end, not the beginning: this limit only keeps a log of endless lines out of memory. */
const MAX_BYTES = 1024 * 1024

export function openPodLogs(connection: ApiConnection): PodLogReader {
  return async ({ namespace = 'default', name, container, lines, signal }) => {
    const query = { container, tailLines: lines, limitBytes: MAX_BYTES }
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/log`
    return readText(await connection.stream(path, { query, signal, accept: '*/*' }), 2 * MAX_BYTES)
  }
}
