/** Checks with dry runs that the API server reaches Lodestone: a claim is rejected, and a ResourceBinding comes back changed. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { resourceBindings } from '../../api/karmada.ts'
import { INJECT_LABEL } from '../../api/lodestone.ts'
import { apiVersionOf, collectionPath, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { pods } from '../../api/pod.ts'
import { allExcludedNamespaces } from '../../app/registration.ts'
import { readDecision } from '../../core/resource-binding/annotations.ts'
import { ApiError, isForbidden } from '../../store/cluster/api-error.ts'
import { isExcluded } from '../../webhooks/registration.ts'
import { type Check, type CheckContext, failed, passed, skipped } from './check.ts'

const NAME = 'lodestone-check-install'

export const admission: Check = {
  name: 'admission',
  async run(context) {
    const error = await create(context, dataSourceClaims, invalidClaim())
    // Errors of the CRD name the object in their details; the rejection of a webhook does not.
    if (error instanceof ApiError && error.status === 422 && error.details.kind === undefined) {
      return passed('an invalid claim is rejected by Lodestone')
    }
    if (isForbidden(error)) throw error
    const { namespace, config } = context
    if (error instanceof ApiError && error.status === 404 && error.details.kind === namespaces.plural) {
      return failed(`namespace ${namespace}, for the dry runs, does not exist`, OTHER_NAMESPACE)
    }
    if (error instanceof ApiError && error.status === 404) {
      return failed('DataSourceClaims cannot be created', 'correct the check "crds" first')
    }
    if (isExcluded(namespace, { excludedNamespaces: allExcludedNamespaces(config) })) {
      return failed(`the API server sends no request of namespace ${namespace} to Lodestone`, OTHER_NAMESPACE)
    }
    const reason = callFailure(error) ?? callFailure(await create(context, pods, podWithLabel()))
    return reason === undefined
      ? failed(
          'an invalid claim was accepted: the API server does not call Lodestone, or gets no response',
          'check that Lodestone runs, that the address in the registration is right, and the log of kube-apiserver for "failed calling webhook"',
        )
      : failed(`the API server cannot call Lodestone: ${reason}`, callRemedy(reason))
  },
}

const OTHER_NAMESPACE = 'name the namespace of a workload: -n NAMESPACE'

type Created = K8sObject & { spec: object }

/** It matches the CRD. Lodestone rejects it, because a binding is no workload. */
function invalidClaim(): Created {
  const workload = { apiVersion: apiVersionOf(resourceBindings), kind: resourceBindings.kind, name: NAME }
  return {
    apiVersion: apiVersionOf(dataSourceClaims),
    kind: dataSourceClaims.kind,
    metadata: { name: NAME },
    spec: { system: NAME, dataSourceType: NAME, dataSourceName: NAME, workload },
  }
}

/** Its webhook has the failure policy `Fail`, so that the API server reports why a call failed. */
function podWithLabel(): Created {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: NAME, labels: { [INJECT_LABEL]: 'true' } },
    spec: { containers: [{ name: 'main', image: 'none' }] },
  }
}

/** Creates an object with a dry run. Returns the object, or the error of the API server. */
async function create(
  { connection, namespace, signal }: CheckContext,
  type: ResourceType,
  object: K8sObject,
  at = namespace,
): Promise<unknown> {
  const body = { ...object, metadata: { ...object.metadata, namespace: at } }
  try {
    return await connection.request('POST', collectionPath(type, at), { query: { dryRun: 'All' }, body, signal })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error
  }
}

/** The reason why a webhook could not be called. kube-apiserver reports it as its own internal error. */
function callFailure(answer: unknown): string | undefined {
  if (!(answer instanceof ApiError) || answer.status !== 500) return undefined
  return answer.message.replaceAll('\n', ' ')
}

/** By the error of Go that kube-apiserver quotes; there is no code. */
const REMEDIES: readonly [RegExp, string][] = [
  [
    /x509|certificate/,
    'the caBundle does not fit the serving certificate: start Lodestone with registration.mode url or service, or set the caBundle of the CA that signed it',
  ],
  [/connection refused/, 'start Lodestone; check the port in the registration (server.port)'],
  [
    /no such host|service .*not found/,
    'correct the host in the registration (registration.url or registration.service)',
  ],
  [/no endpoints|no service port/, 'check that the pods of Lodestone are ready, and the port of the Service'],
  [/deadline exceeded|timeout/i, 'check firewalls and network policies between kube-apiserver and Lodestone'],
]

function callRemedy(reason: string): string {
  return REMEDIES.find(([pattern]) => pattern.test(reason))?.[1] ?? 'check the log of Lodestone'
}

/** The most claims whose workloads are tried: the first ones may not be permitted. */
const MAX_TRIES = 5
const MAX_LISTED = 500

export const narrowing: Check = {
  name: 'narrowing',
  async run(context) {
    const bindings = await list(context, resourceBindings, 1)
    if (bindings === undefined) return skipped('no ResourceBindings: this is not a Karmada hub')
    const claims = await locatedClaims(context)
    if (claims.length === 0) return skipped('no claim with a known location yet')
    const errors: string[] = []
    const denials: ApiError[] = []
    for (const claim of claims.slice(0, MAX_TRIES)) {
      const answer = await create(context, resourceBindings, bindingFor(claim), claim.metadata.namespace)
      const title = `claim ${claim.metadata.namespace}/${claim.metadata.name}`
      if (answer instanceof ApiError) {
        errors.push(`${title}: ${answer.message}`)
        if (answer.status === 403) denials.push(answer)
        continue
      }
      const { locality, hold } = readDecision((answer as K8sObject).metadata.annotations)
      const found = locality ?? hold
      if (found) return passed(`the binding for ${title} is changed: ${found.message}`)
      errors.push(`the binding for ${title} is not changed`)
    }
    if (denials.length === errors.length && denials[0]) throw denials[0]
    const { kind, name } = claims[0]?.spec.workload ?? {}
    const namespace = claims[0]?.metadata.namespace
    return failed(errors.join('; '), `see: lodestone explain ${kind}/${name} -n ${namespace}`.toLowerCase())
  },
}

function bindingFor({ metadata, spec }: DataSourceClaim): Created {
  return {
    apiVersion: apiVersionOf(resourceBindings),
    kind: resourceBindings.kind,
    metadata: { name: NAME },
    spec: { resource: { ...spec.workload, namespace: metadata.namespace }, placement: {} },
  }
}

async function locatedClaims(context: CheckContext): Promise<DataSourceClaim[]> {
  const sources = ((await list(context, dataSources, MAX_LISTED)) ?? []) as DataSource[]
  const located = new Set(
    sources.filter(({ spec }) => spec.locality?.clusterNames?.length).map(({ metadata }) => metadata.name),
  )
  const claims = ((await list(context, dataSourceClaims, MAX_LISTED)) ?? []) as DataSourceClaim[]
  return claims.filter(
    ({ metadata, spec, status }) =>
      metadata.deletionTimestamp === undefined &&
      (spec.workload.namespace ?? metadata.namespace) === metadata.namespace &&
      located.has(status?.boundDataSource),
  )
}

/** The first objects of a kind; undefined if it is not served. */
async function list({ connection, signal }: CheckContext, type: ResourceType, limit: number) {
  try {
    const answer = await connection.request('GET', collectionPath(type), { query: { limit }, signal })
    return (answer as { items: K8sObject[] }).items
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}
