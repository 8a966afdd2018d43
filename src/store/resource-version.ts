/** Checks that an object to write has the resource version that its write needs. */
import { type K8sObject, keyOfObject } from '../api/meta.ts'

/** Throws for an object without a resource version: a replacement without one would overwrite changes of other clients. */
export function requireVersion(object: K8sObject): void {
  if (object.metadata.resourceVersion) return
  throw new Error(`${objectTitle(object)}: a write needs metadata.resourceVersion; read the object first`)
}

/** Throws for an object with a resource version: an API server rejects the creation of such an object. */
export function refuseVersion(object: K8sObject): void {
  if (!object.metadata.resourceVersion) return
  throw new Error(`${objectTitle(object)}: an object to create must not have a metadata.resourceVersion`)
}

/** The name of an object in messages. */
export function objectTitle(object: K8sObject): string {
  return `${object.kind} ${keyOfObject(object)}`
}
