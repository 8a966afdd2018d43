/**
 * Creates, replaces, patches, deletes and reads single objects on an API server. Conflicts and missing objects have errors of their own.
 */
import { apiVersionOf, collectionPath, type K8sObject, objectKey, type ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { withType } from '../any-kind.ts'
import { refuseVersion, requireVersion } from '../resource-version.ts'
import {
  ConflictError,
  type CreateOptions,
  MissingPrerequisiteError,
  NamespaceTerminatingError,
  NotFoundError,
  type ObjectName,
  type PatchOptions,
} from '../store.ts'
import type { ApiConnection } from './api-connection.ts'
import { ApiError } from './api-error.ts'

/** Creates an object and returns the object of the server. Throws `ConflictError` when it exists. */
export async function createObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  object: T,
  { isDryRun = false }: CreateOptions = {},
): Promise<T> {
  refuseVersion(object)
  const { namespace } = object.metadata
  const query = isDryRun ? { dryRun: 'All' } : undefined
  return (await write(connection, { method: 'POST', type, namespace, body: object, query })) as T
}

/**
 * Replaces an object and returns the object of the server. Throws `ConflictError` when it changed, and `NotFoundError` when it was deleted.
 */
export async function updateObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  object: T,
): Promise<T> {
  requireVersion(object)
  const { namespace, name = '' } = object.metadata
  return (await write(connection, { method: 'PUT', type, namespace, name, body: object })) as T
}

/** Sends a JSON merge patch or a server-side apply, and returns the patched object. Throws as `updateObject` does. */
export async function patchObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  reference: ObjectName,
  patch: Record<string, unknown>,
  { subresource, fieldManager }: PatchOptions = {},
): Promise<T> {
  requireName(type, reference)
  const how =
    fieldManager === undefined
      ? { contentType: 'application/merge-patch+json' }
      : { contentType: 'application/apply-patch+yaml', query: { fieldManager, force: 'true' } }
  return (await write(connection, { method: 'PATCH', type, ...reference, subresource, body: patch, ...how })) as T
}

/**
 * Deletes an object if it has not changed since it was read; otherwise throws `ConflictError`. Does nothing when it was deleted already.
 */
export async function deleteObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  object: T,
): Promise<void> {
  requireVersion(object)
  const { namespace, name = '', uid, resourceVersion } = object.metadata
  requireName(type, { namespace, name })
  const preconditions = defined({ uid: uid || undefined, resourceVersion })
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }
  try {
    await send(connection, { method: 'DELETE', type, namespace, name, body })
  } catch (error) {
    if (!(error instanceof NotFoundError || error instanceof MissingPrerequisiteError)) throw error
  }
}

/** Reads an object from the server, without a cache. Returns undefined when the object, its namespace or its kind does not exist. */
export async function readObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  namespace: string | undefined,
  name: string,
): Promise<T | undefined> {
  for (const version of [type.version, ...(type.otherVersions ?? [])]) {
    const served = { ...type, version }
    try {
      return withType(served, (await connection.request('GET', objectPath(served, namespace, name))) as T) as T
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error
    }
  }
  return undefined
}

interface WriteRequest {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  type: ResourceType
  namespace?: string | undefined
  /** Absent for a create. */
  name?: string
  subresource?: string | undefined
  body: unknown
  /** Default: JSON. */
  contentType?: string
  query?: Record<string, string> | undefined
}

async function write(connection: ApiConnection, request: WriteRequest): Promise<K8sObject> {
  return withType(request.type, (await send(connection, request)) as K8sObject)
}

async function send(connection: ApiConnection, request: WriteRequest): Promise<unknown> {
  const { method, type, namespace, name, subresource, body, contentType, query } = request
  const parent = name === undefined ? collectionPath(type, namespace) : objectPath(type, namespace, name)
  const path = subresource === undefined ? parent : `${parent}/${subresource}`
  try {
    return await connection.request(method, path, defined({ body, contentType: contentType || undefined, query }))
  } catch (error) {
    throw error instanceof ApiError ? storeErrorOf(error, request) : error
  }
}

/** The cause of a 403 for a new object (api/core/v1, NamespaceTerminatingCause). */
const NAMESPACE_TERMINATING = 'NamespaceTerminating'

/**
 * Converts conflicts, missing objects, missing prerequisites and namespaces that are being deleted to errors of their own. The details of a
 * 404 name the missing object.
 */
function storeErrorOf(error: ApiError, { type, name, subresource }: WriteRequest): Error {
  const options = { cause: error }
  if (error.status === 409) return new ConflictError(error.message, options)
  if (error.status === 403 && error.details.causes?.includes(NAMESPACE_TERMINATING))
    return new NamespaceTerminatingError(error.message, options)
  if (error.status !== 404) return error
  const missing = error.details
  if (name !== undefined && missing.kind === type.plural && missing.name === name)
    return new NotFoundError(error.message, options)
  if (missing.kind === 'namespaces')
    return new MissingPrerequisiteError(`namespace "${missing.name}" does not exist; create it`, options)
  const resource = `${subresource === undefined ? '' : `the ${subresource} of `}${type.kind} in ${apiVersionOf(type)}`
  return new MissingPrerequisiteError(
    `the API server does not serve ${resource}; install its CustomResourceDefinition`,
    options,
  )
}

/** Throws for names that would change the meaning of the path: a DELETE without a name deletes the whole collection. */
function requireName(type: ResourceType, { namespace, name }: ObjectName): void {
  const isWhole = !['', '.', '..'].includes(name) && (!type.namespaced || Boolean(namespace))
  if (!isWhole)
    throw new Error(`${type.kind} ${JSON.stringify(objectKey(namespace, name))}: a name or namespace is missing`)
}

function objectPath(type: ResourceType, namespace: string | undefined, name: string): string {
  return `${collectionPath(type, namespace)}/${encodeURIComponent(name)}`
}
