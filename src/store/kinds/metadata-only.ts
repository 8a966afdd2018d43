/** Metadata-only objects: the media types that request them, and a function that removes the content of an object. */
import type { K8sObject } from '../../api/meta.ts'

/**
 * The `accept` header of a LIST or WATCH (Kubernetes API Concepts, "Fetching metadata only"). A server without support for metadata-only
 * requests sends whole objects.
 */
export function acceptFor(view: 'PartialObjectMetadata' | 'PartialObjectMetadataList', metadataOnly: boolean): string {
  return metadataOnly ? `application/json;as=${view};g=meta.k8s.io;v=v1,application/json` : 'application/json'
}

/** The object without its content. */
export function withoutContent({ apiVersion, kind, metadata }: K8sObject): K8sObject {
  return { apiVersion, kind, metadata }
}
