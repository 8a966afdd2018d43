/** Creates, replaces, patches, deletes and reads single objects on an API server, and tells a lost race from a failure. */
import {
  apiVersionOf,
  collectionPath,
  type K8sObject,
  keyOfObject,
  objectKey,
  type ResourceType,
} from '../../api/meta.ts'
import { withType } from '../kinds/any-kind.ts'
import { ConflictError, MissingPrerequisiteError, NotFoundError, type ObjectName, type PatchOptions } from '../store.ts'
import type { ApiConnection } from './api-connection.ts'
import { ApiError } from './api-error.ts'

/** Creates an object; returns it as the server made it. Throws `ConflictError` when it exists. */
export async function createObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  object: T,
): Promise<T> {
  refuseVersion(object)
  return (await write(connection, { method: 'POST', type, namespace: object.metadata.namespace, body: object })) as T
}

/** Replaces an object; returns it as the server made it. Throws `ConflictError` when it changed, `NotFoundError` when it is gone. */
export async function updateObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  object: T,
): Promise<T> {
  requireVersion(object)
  const { namespace, name = '' } = object.metadata
  return (await write(connection, { method: 'PUT', type, namespace, name, body: object })) as T
}

/** Sends a JSON merge patch; returns the object as the server has it then. Throws as `updateObject` does. */
export async function patchObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  reference: ObjectName,
  patch: Record<string, unknown>,
  { subresource }: PatchOptions = {},
): Promise<T> {
  requireName(type, reference)
  const contentType = 'application/merge-patch+json'
  return (await write(connection, { method: 'PATCH', type, ...reference, subresource, body: patch, contentType })) as T
}

/** Deletes an object if it is still the one that was read. One that is gone is a success; throws `ConflictError` when it changed. */
export async function deleteObject<T extends K8sObject>(
  connection: ApiConnection,
  type: ResourceType<T>,
  object: T,
): Promise<void> {
  requireVersion(object)
  const { namespace, name = '', uid, resourceVersion } = object.metadata
  requireName(type, { namespace, name })
  const preconditions = { ...(uid && { uid }), resourceVersion }
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }
  try {
    await send(connection, { method: 'DELETE', type, namespace, name, body })
  } catch (error) {
    if (!(error instanceof NotFoundError || error instanceof MissingPrerequisiteError)) throw error
  }
}

/** Reads an object from the server, past every cache. Undefined when it, its namespace or its kind is not there. */
export async function readObject<T extends K8sObject>(
  connection: ApiConnection,
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

/** Throws for an object without a resource version: an unguarded replacement would undo the writes of other clients. */
export function requireVersion(object: K8sObject): void {
  if (object.metadata.resourceVersion) return
  throw new Error(
    `${describe(object)}: what is written over needs the metadata.resourceVersion of the object that was read`,
  )
}

/** Throws for an object with a resource version: an API server rejects the creation of such an object. */
export function refuseVersion(object: K8sObject): void {
  if (!object.metadata.resourceVersion) return
  throw new Error(`${describe(object)}: an object to create must not have a metadata.resourceVersion`)
}

/** How an object is called in messages. */
export function describe(object: K8sObject): string {
  return `${object.kind} ${keyOfObject(object)}`
}

interface WriteRequest {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  type: ResourceType
  namespace?: string | undefined
  /** Absent for a create. */
  name?: string
  subresource?: string | undefined
  body: unknown
  /** JSON unless given. */
  contentType?: string
}

async function write(connection: ApiConnection, request: WriteRequest): Promise<K8sObject> {
  return withType(request.type, (await send(connection, request)) as K8sObject)
}

async function send(connection: ApiConnection, request: WriteRequest): Promise<unknown> {
  const { method, type, namespace, name, subresource, body, contentType } = request
  const parent = name === undefined ? collectionPath(type, namespace) : objectPath(type, namespace, name)
  const path = subresource === undefined ? parent : `${parent}/${subresource}`
  try {
    return await connection.request(method, path, { body, ...(contentType && { contentType }) })
  } catch (error) {
    throw error instanceof ApiError ? storeErrorOf(error, request) : error
  }
}

/** Distinguishes a lost race and a missing prerequisite from other failures: a 404 names the object that was not found. */
function storeErrorOf(error: ApiError, { type, name, subresource }: WriteRequest): Error {
  const options = { cause: error }
  if (error.status === 409) return new ConflictError(error.message, options)
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

/** Refuses names that make the path one of something else: without a name, a DELETE is for the whole collection. */
function requireName(type: ResourceType, { namespace, name }: ObjectName): void {
  const isWhole = !['', '.', '..'].includes(name) && (!type.namespaced || Boolean(namespace))
  if (!isWhole)
    throw new Error(`${type.kind} ${JSON.stringify(objectKey(namespace, name))}: a name or namespace is missing`)
}

function objectPath(type: ResourceType, namespace: string | undefined, name: string): string {
  return `${collectionPath(type, namespace)}/${encodeURIComponent(name)}`
}
