/** Creates, replaces, patches, deletes and reads single objects on an API server, and tells a lost race from a failure. */
import { collectionPath, type K8sObject, keyOfObject, objectKey, type ResourceType } from '../../api/meta.ts'
import { withType } from '../kinds/any-kind.ts'
import { ConflictError, NotFoundError, type ObjectName, type PatchOptions } from '../store.ts'
import type { Connection } from './api-connection.ts'
import { ApiError } from './api-error.ts'

/** Creates an object; returns it as the server made it. Throws `ConflictError` when it exists. */
export async function createObject<T extends K8sObject>(
  connection: Connection,
  type: ResourceType<T>,
  object: T,
): Promise<T> {
  refuseVersion(object)
  const path = collectionPath(type, object.metadata.namespace)
  return (await write(connection, 'POST', path, type, object)) as T
}

/** Replaces an object; returns it as the server made it. Throws `ConflictError` when it changed, `NotFoundError` when it is gone. */
export async function updateObject<T extends K8sObject>(
  connection: Connection,
  type: ResourceType<T>,
  object: T,
): Promise<T> {
  requireVersion(object)
  const path = objectPath(type, object.metadata.namespace, object.metadata.name ?? '')
  return (await write(connection, 'PUT', path, type, object)) as T
}

/** Sends a JSON merge patch; returns the object as the server has it then. Throws as `updateObject` does. */
export async function patchObject<T extends K8sObject>(
  connection: Connection,
  type: ResourceType<T>,
  reference: ObjectName,
  patch: Record<string, unknown>,
  { subresource }: PatchOptions = {},
): Promise<T> {
  const path = namedPath(type, reference) + (subresource === undefined ? '' : `/${subresource}`)
  return (await write(connection, 'PATCH', path, type, patch, 'application/merge-patch+json')) as T
}

/** Deletes an object if it is still the one that was read. One that is gone is a success; throws `ConflictError` when it changed. */
export async function deleteObject<T extends K8sObject>(
  connection: Connection,
  type: ResourceType<T>,
  object: T,
): Promise<void> {
  requireVersion(object)
  const { namespace, name = '', uid, resourceVersion } = object.metadata
  const preconditions = { ...(uid && { uid }), resourceVersion }
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }
  try {
    await send(connection, 'DELETE', namedPath(type, { namespace, name }), body)
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error // Gone is what was asked for.
  }
}

/** Reads an object from the server, past every cache. Undefined when it, its namespace or its kind is not there. */
export async function readObject<T extends K8sObject>(
  connection: Connection,
  type: ResourceType<T>,
  namespace: string | undefined,
  name: string,
): Promise<T | undefined> {
  try {
    return withType(type, (await connection.request('GET', objectPath(type, namespace, name))) as T) as T
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

/** Throws for an object without a resource version: replacing unguarded would undo what others wrote. */
export function requireVersion(object: K8sObject): void {
  if (object.metadata.resourceVersion) return
  throw new Error(
    `${describe(object)}: what is written over needs the metadata.resourceVersion of the object that was read`,
  )
}

/** Throws for an object with a resource version: an API server refuses to create what says that it exists. */
export function refuseVersion(object: K8sObject): void {
  if (!object.metadata.resourceVersion) return
  throw new Error(`${describe(object)}: an object to create must not have a metadata.resourceVersion`)
}

/** How an object is called in messages. */
export function describe(object: K8sObject): string {
  return `${object.kind} ${keyOfObject(object)}`
}

async function write(
  connection: Connection,
  method: 'POST' | 'PUT' | 'PATCH',
  path: string,
  type: ResourceType,
  body: unknown,
  contentType?: string,
): Promise<K8sObject> {
  return withType(type, (await send(connection, method, path, body, contentType)) as K8sObject)
}

/** Tells a lost race from a failure. */
async function send(
  connection: Connection,
  method: string,
  path: string,
  body: unknown,
  contentType?: string,
): Promise<unknown> {
  try {
    return await connection.request(method, path, { body, ...(contentType && { contentType }) })
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) throw new ConflictError(error.message, { cause: error })
    if (error instanceof ApiError && error.status === 404) throw new NotFoundError(error.message, { cause: error })
    throw error
  }
}

/** Refuses names that would make the path one of something else: without a name, a DELETE is for the whole collection. */
function namedPath(type: ResourceType, { namespace, name }: ObjectName): string {
  const isWhole = !['', '.', '..'].includes(name) && (!type.namespaced || Boolean(namespace))
  if (!isWhole)
    throw new Error(`${type.kind} ${JSON.stringify(objectKey(namespace, name))}: a name or namespace is missing`)
  return objectPath(type, namespace, name)
}

function objectPath(type: ResourceType, namespace: string | undefined, name: string): string {
  return `${collectionPath(type, namespace)}/${encodeURIComponent(name)}`
}
