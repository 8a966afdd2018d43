/** Reads the version of an API server, and the schemas of Karmada's bindings. */
import { propagationPolicies, resourceBindings } from '../../api/karmada.ts'
import { defined, isObject } from '../../base/json.ts'
import type { ServerInfo } from '../../core/server-features.ts'
import type { ApiConnection } from './api-connection.ts'
import { ApiError } from './api-error.ts'

const { group, version } = resourceBindings

/** Returns a function that reads them anew each time. It throws if the API server rejects the requests. */
export function openServerInfo(connection: ApiConnection): () => Promise<ServerInfo> {
  return async () => {
    const found = await connection.request('GET', '/version')
    const bindingSchemas = await readBindingSchemas(connection)
    return defined({ version: isObject(found) ? String(found['gitVersion']) : '', bindingSchemas })
  }
}

/** Whether the API server is a hub: it serves the policies of Karmada. */
export async function servesPolicies(connection: ApiConnection, signal: AbortSignal): Promise<boolean> {
  try {
    await connection.request('GET', `/apis/${propagationPolicies.group}`, { signal })
    return true
  } catch (error) {
    if (!(error instanceof ApiError) || ![403, 404].includes(error.status)) throw error
    // A user without the right of discovery may be allowed to read the objects.
    return error.status === 403
  }
}

/** Returns the schemas of Karmada's bindings by name; undefined if the API server is no hub. Throws if it rejects the request. */
export async function readBindingSchemas(connection: ApiConnection): Promise<Record<string, unknown> | undefined> {
  try {
    const document = await connection.request('GET', `/openapi/v3/apis/${group}/${version}`)
    const components = isObject(document) ? document['components'] : undefined
    const schemas = isObject(components) ? components['schemas'] : undefined
    return isObject(schemas) ? schemas : {}
  } catch (error) {
    // Not a hub.
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}
