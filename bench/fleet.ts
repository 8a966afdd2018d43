/** The claims, sources and bindings of a large fleet. Workload 0 is the one of the review that a binding is made after. */
import { dataSources } from '../src/api/data-source.ts'
import { dataSourceClaims } from '../src/api/data-source-claim.ts'
import { resourceBindings } from '../src/api/karmada.ts'
import { apiVersionOf, type K8sObject } from '../src/api/meta.ts'
import type { Stored } from './seed.ts'

export interface Fleet {
  claims: number
  sources: number
  bindings: number
}

type Data = Record<'system' | 'type' | 'name', string>

const NAMESPACE = 'default'

/** The cluster that holds data i; for the workload of the recorded reviews, which is number 0, that is where it runs. */
export function clusterOf(i: number): string {
  return `member${((i + 1) % 3) + 1}`
}

/** The table that claim i of a fleet over so many tables asks for. */
export function tableOf(i: number, tables: number): string {
  return `lake.sales.table_${i % tables}`
}

/** A fleet at rest: claim i is bound to source i, or an earlier one where there are fewer. Workload 0 has no binding yet, as its review says. */
export function* resolvedFleet(template: K8sObject, { claims, sources, bindings }: Fleet): Generator<Stored> {
  for (let i = 0; i < sources; i++) yield source(i)
  for (let i = 0; i < claims; i++) {
    const name = `data-${i % sources}`
    const status = { phase: 'Bound', boundDataSource: `static-bucket-${name}` }
    yield claim(i, template, { system: 'static', type: 'bucket', name }, { status })
  }
  for (let i = 1; i <= bindings; i++) yield binding(i, template)
}

/** A fleet that no loop has reconciled: as many bindings as claims, which ask for so many tables and have no answer. */
export function* unresolvedFleet(
  template: K8sObject,
  { claims, tables }: { claims: number; tables: number },
): Generator<Stored> {
  for (let i = 0; i < claims; i++) {
    yield binding(i, template)
    yield claim(i, template, { system: 'amoro', type: 'table', name: tableOf(i, tables) })
  }
}

function source(i: number): Stored {
  return {
    ...dataSources,
    object: {
      apiVersion: apiVersionOf(dataSources),
      kind: dataSources.kind,
      metadata: { name: `static-bucket-data-${i}` },
      spec: {
        system: 'static',
        type: 'bucket',
        name: `data-${i}`,
        locality: { clusterNames: [clusterOf(i)], location: `s3://bucket-${i}/data`, bytes: i * 1024 },
      },
      status: { phase: 'Available', lastResolvedTime: '2026-11-20T00:00:00Z' },
    },
  }
}

function claim(i: number, template: K8sObject, { system, type, name }: Data, parts: { status?: object } = {}): Stored {
  return {
    ...dataSourceClaims,
    object: {
      apiVersion: apiVersionOf(dataSourceClaims),
      kind: dataSourceClaims.kind,
      metadata: { name: `claim-${i}`, namespace: NAMESPACE },
      spec: {
        system,
        dataSourceType: type,
        dataSourceName: name,
        workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: workloadName(i, template) },
      },
      ...parts,
    },
  }
}

function binding(i: number, template: K8sObject): Stored {
  const { spec } = template as Bound
  const name = workloadName(i, template)
  return {
    ...resourceBindings,
    object: {
      ...template,
      metadata: { ...template.metadata, name: `${name}-deployment`, namespace: NAMESPACE },
      spec: { ...spec, resource: { ...spec.resource, name } },
    },
  }
}

function workloadName(i: number, template: K8sObject): string {
  return i === 0 ? (template as Bound).spec.resource.name : `workload-${i}`
}

type Bound = K8sObject & { spec: { resource: { name: string } } }
