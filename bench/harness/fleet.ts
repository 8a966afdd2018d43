/** Claims, sources and bindings of a large fleet. Workload 0 is the workload of the recorded reviews. */
import { dataSources } from '../../src/api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { type ResourceBinding, resourceBindings } from '../../src/api/karmada.ts'
import { CLAIM_FINALIZER } from '../../src/api/lodestone.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { locateClaim } from '../../src/core/data-source/locate.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { makeClaim, makeInput, makeSource } from '../../test/builders.ts'
import type { Stored } from './seed.ts'

export interface Fleet {
  claims: number
  sources: number
  bindings: number
}

export const MEMBERS = ['member1', 'member2', 'member3']

/** The cluster of data i. For workload 0 it is the cluster in which the workload runs. */
export function clusterOf(i: number): string {
  return `member${((i + 1) % MEMBERS.length) + 1}`
}

/** The table of claim i in a fleet over so many tables. */
export function tableOf(i: number, tables: number): string {
  return `lake.sales.table_${i % tables}`
}

/** A fleet at rest: claim i is bound to source i, or to an earlier one if there are fewer. Workload 0 has no binding yet. */
export function* resolvedFleet(template: K8sObject, { claims, sources, bindings }: Fleet): Generator<Stored> {
  for (let i = 0; i < sources; i++) {
    const locality = { clusterNames: [clusterOf(i)], location: `s3://bucket-${i}/data`, bytes: i * 1024 }
    const status = { phase: 'Available' as const, lastResolvedTime: '2026-11-20T00:00:00Z' }
    const spec = { system: 'static', type: 'bucket', name: `data-${i}`, locality }
    yield { type: dataSources, object: makeSource(spec, { name: `static-bucket-${spec.name}`, status }) }
  }
  for (let i = 0; i < claims; i++) {
    const dataSourceName = `data-${i % sources}`
    const status = { phase: 'Bound', boundDataSource: `static-bucket-${dataSourceName}` }
    const data = { system: 'static', dataSourceType: 'bucket', dataSourceName }
    yield { type: dataSourceClaims, object: { ...claim(i, template, data), status } as K8sObject }
  }
  for (let i = 1; i <= bindings; i++) yield { type: resourceBindings, object: binding(i, template) }
}

/** A fleet that passed admission, and that no loop has reconciled: as many bindings as claims, for so many tables. The bindings are on hold. */
export function* unresolvedFleet(template: K8sObject, claims: number, tables: number): Generator<Stored> {
  const now = Date.now()
  for (let i = 0; i < claims; i++) {
    const dataSourceName = tableOf(i, tables)
    const ofTable = claim(i, template, { system: 'amoro', dataSourceType: 'table', dataSourceName })
    const answers = [locateClaim(ofTable, undefined, now)]
    const admitted = decideBinding(makeInput({ binding: binding(i, template), claims: answers, now }))
    yield { type: resourceBindings, object: admitted.binding }
    yield { type: dataSourceClaims, object: ofTable }
  }
}

/** Has the finalizer, since admission adds it when a claim is created. The seed does not pass through admission. */
function claim(i: number, template: K8sObject, data: Partial<DataSourceClaim['spec']>): DataSourceClaim {
  const workload = { apiVersion: 'apps/v1', kind: 'Deployment', name: workloadName(i, template) }
  return makeClaim({ ...data, workload }, { name: `claim-${i}`, finalizers: [CLAIM_FINALIZER] })
}

function binding(i: number, template: K8sObject): ResourceBinding {
  const { spec } = template as Bound
  const name = workloadName(i, template)
  const metadata = { ...template.metadata, name: `${name}-deployment`, namespace: 'default' }
  return { ...template, metadata, spec: { ...spec, resource: { ...spec.resource, name } } } as ResourceBinding
}

function workloadName(i: number, template: K8sObject): string {
  return i === 0 ? (template as Bound).spec.resource.name : `workload-${i}`
}

type Bound = K8sObject & { spec: { resource: { name: string } } }
