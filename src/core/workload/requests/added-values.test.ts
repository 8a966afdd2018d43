// Values that admission adds to a workload are removed with their cause, by each tool that writes manifests.

import { describe, expect, test } from 'vitest'
import { makeUsable, managers, nodesWith } from '../../../../test/builders.ts'
import {
  ADDED_ANNOTATION,
  INJECT_LABEL,
  NODE_REQUIREMENTS_ANNOTATION,
  VOLUMES_ANNOTATION,
} from '../../../api/lodestone.ts'
import { type K8sObject, LAST_APPLIED_ANNOTATION, type ObjectMeta } from '../../../api/meta.ts'
import { defined } from '../../../base/json.ts'
import { valuesAt } from '../../../base/json-path.ts'
import { SHIPPED_KINDS } from '../../workload-kinds/kinds.ts'
import { decideWorkload } from '../decide-workload.ts'
import { WRITERS } from './writers.fake.ts'

const MNIST = '{"name":"mnist","mount-path":"/data"}'
const OTHER = '{"name":"mnist","mount-path":"/new"}'
const asks = (annotation: string) => ({ [VOLUMES_ANNOTATION]: annotation })
const lookup = managers({ name: 'mnist', volumes: [makeUsable('vol1', { nodeAffinity: nodesWith('data/mnist') })] })

interface Manifest {
  own?: string
  inTemplate?: string
  label?: string
  kind?: string
}

function manifest({ own, inTemplate, label, kind = 'Deployment' }: Manifest): K8sObject {
  const labels = { app: 'server', ...(label ? { [INJECT_LABEL]: label } : {}) }
  const template = {
    metadata: defined({ labels, annotations: inTemplate ? asks(inTemplate) : undefined }),
    spec: { containers: [{ name: 'main' }] },
  }
  const metadata = defined({ name: 'server', namespace: 'default', annotations: own ? asks(own) : undefined })
  return { apiVersion: 'apps/v1', kind, metadata, spec: { template } } as K8sObject
}

/** What the API server stores after admission. */
function admit(object: K8sObject, stored?: K8sObject): { object: K8sObject; warnings: string[] } {
  const kind = SHIPPED_KINDS.find(object.apiVersion, object.kind)
  const outcome = decideWorkload({ object, stored, kind, managers: lookup, isHub: false })
  if (outcome.kind === 'deny') throw new Error(JSON.stringify(outcome.errors))
  return { object: outcome.kind === 'patch' ? outcome.object : object, warnings: outcome.warnings ?? [] }
}

/** Writes manifests one after the other, and returns what is stored after the last one. */
function writeAll(writer: string, manifests: readonly Manifest[]): { object: K8sObject; warnings: string[] } {
  const write = WRITERS[writer]
  if (!write) throw new Error(writer)
  let result: { object: K8sObject; warnings: string[] } | undefined
  let before: K8sObject | undefined
  for (const each of manifests.map(manifest)) {
    result = admit(write(each, result?.object, before), result?.object)
    before = each
  }
  if (!result) throw new Error('no manifest')
  return result
}

function podsOf(object: K8sObject): { labels?: unknown; volumes?: unknown; added: boolean } {
  const [metadata = {}] = valuesAt(object, 'spec.template.metadata') as ObjectMeta[]
  const { annotations = {}, labels = {} } = metadata
  return defined({
    label: labels[INJECT_LABEL] || undefined,
    volumes: annotations[VOLUMES_ANNOTATION] || undefined,
    added: ADDED_ANNOTATION in annotations,
  })
}

const NOTHING = { added: false }
const copied = (volumes: string) => ({ label: 'true', volumes, added: true })
const writers = Object.keys(WRITERS)

describe.each(writers)('%s', (writer) => {
  test.each<{ name: string; manifests: Manifest[]; want: object }>([
    { name: 'an annotation that is removed', manifests: [{ own: MNIST }, {}], want: NOTHING },
    { name: 'an annotation that is changed', manifests: [{ own: MNIST }, { own: OTHER }], want: copied(OTHER) },
    {
      name: 'an annotation that is changed and then removed',
      manifests: [{ own: MNIST }, { own: OTHER }, {}],
      want: NOTHING,
    },
    {
      name: 'an annotation that is removed and added again',
      manifests: [{ own: MNIST }, {}, { own: MNIST }],
      want: copied(MNIST),
    },
    { name: 'the annotation of a template that is removed', manifests: [{ inTemplate: MNIST }, {}], want: NOTHING },
    {
      name: 'the annotation of a template beside that of its workload',
      manifests: [{ own: MNIST, inTemplate: OTHER }, { inTemplate: OTHER }],
      want: { label: 'true', volumes: OTHER, added: true },
    },
    {
      name: 'an equal annotation of the template',
      manifests: [{ own: MNIST, inTemplate: MNIST }, { inTemplate: MNIST }],
      want: { label: 'true', volumes: MNIST, added: true },
    },
    {
      name: 'the annotation of a template that is removed beside that of its workload',
      manifests: [{ own: MNIST, inTemplate: OTHER }, { own: MNIST }],
      want: copied(MNIST),
    },
    {
      name: 'the label of the user',
      manifests: [{ own: MNIST, label: 'true' }, { label: 'true' }],
      want: { label: 'true', added: false },
    },
    {
      name: 'a template that opts out later',
      manifests: [{ own: MNIST }, { own: MNIST, label: 'false' }],
      want: { label: 'false', added: false },
    },
    { name: 'the same manifest again', manifests: [{ own: MNIST }, { own: MNIST }], want: copied(MNIST) },
  ])('leaves in the template only what has a cause: $name', ({ manifests, want }) => {
    expect(podsOf(writeAll(writer, manifests).object)).toEqual(want)
  })

  test('gives a DaemonSet all of its nodes back when its annotation is removed', () => {
    const kind = 'DaemonSet'
    const inTemplate = writeAll(writer, [{ kind, inTemplate: MNIST }, { kind }]).object
    const own = writeAll(writer, [{ kind, own: MNIST }, { kind }]).object
    for (const object of [inTemplate, own]) {
      expect(valuesAt(object, 'spec.template.spec')).toEqual([{ containers: [{ name: 'main' }] }])
      expect(object.metadata.annotations ?? {}).not.toHaveProperty(NODE_REQUIREMENTS_ANNOTATION)
    }
  })
})

describe('an annotation that moves from a workload to its template', () => {
  const moved = [{ own: MNIST }, { inTemplate: MNIST }]

  test.each(writers.filter((writer) => writer !== 'helm upgrade'))('stays with %s', (writer) => {
    const { object, warnings } = writeAll(writer, moved)
    expect(podsOf(object)).toMatchObject({ volumes: MNIST, label: 'true' })
    expect(warnings).toEqual([])
  })

  test('is removed once with Helm, whose requests have no manifest, with a warning', () => {
    const first = writeAll('helm upgrade', moved)
    expect(podsOf(first.object)).toEqual(NOTHING)
    expect(first.warnings).toEqual([
      'lodestone: copied lodestone.dev/volumes is removed; if the pods need it, annotate spec.template.metadata',
    ])
    expect(podsOf(writeAll('helm upgrade', [...moved, { inTemplate: MNIST }]).object)).toMatchObject({ volumes: MNIST })
  })
})

describe('a copy of a stored manifest', () => {
  const live = writeAll('kubectl apply', [{ own: MNIST }]).object
  const { [LAST_APPLIED_ANNOTATION]: _, ...annotations } = live.metadata.annotations ?? {}
  const copy: K8sObject = { ...live, metadata: { name: 'copy', namespace: 'default', annotations } }
  const { [VOLUMES_ANNOTATION]: __, ...rest } = annotations
  const without: K8sObject = { ...copy, metadata: { ...copy.metadata, annotations: rest } }

  test.each(writers)('written by %s is as the original: its volumes go with the annotation', (writer) => {
    const write = WRITERS[writer] as (typeof WRITERS)[string]
    const created = admit(write(copy)).object
    expect(podsOf(created)).toEqual(copied(MNIST))
    expect(podsOf(admit(write(without, created, copy), created).object)).toEqual(NOTHING)
  })

  test('without the annotation has no volumes from the beginning', () => {
    expect(podsOf(admit(without).object)).toEqual(NOTHING)
  })
})

describe('an update', () => {
  const stored = writeAll('kubectl apply', [{ own: MNIST }]).object
  const withoutCause = (object: K8sObject): K8sObject => ({ ...object, metadata: { name: 'server' } })

  test('after a removal that Lodestone missed removes what is left', () => {
    const missed = withoutCause(stored)
    expect(podsOf(admit(missed, missed).object)).toEqual(NOTHING)
  })

  test('of a template from an old revision follows the annotation of the workload', () => {
    const changed = writeAll('kubectl apply', [{ own: MNIST }, { own: OTHER }]).object
    const { spec } = stored as K8sObject & { spec: unknown }
    expect(podsOf(admit({ ...changed, spec } as K8sObject, changed).object)).toEqual(copied(OTHER))
  })

  test('with another annotation in the template keeps that one', () => {
    const { spec } = manifest({ inTemplate: OTHER, label: 'true' }) as K8sObject & { spec: unknown }
    const edited = admit({ ...stored, spec } as K8sObject, stored).object
    expect(podsOf(admit(withoutCause(edited), edited).object)).toMatchObject({ volumes: OTHER })
  })

  test('of a workload that version 0.1.0 labeled removes its copy, which has no note', () => {
    const old = manifest({ own: MNIST, inTemplate: MNIST, label: 'true' })
    expect(podsOf(admit(old, old).object)).toEqual({ label: 'true', volumes: MNIST, added: false })
    expect(podsOf(admit(withoutCause(old), old).object)).toEqual(NOTHING)
  })

  test.each(['[]', 'x', '{"volumes":1}'])('with a note that a user damaged (%s) keeps the annotation', (note) => {
    const [path, damaged] = ['spec.template.metadata', structuredClone(withoutCause(stored))]
    const [metadata] = valuesAt(damaged, path) as ObjectMeta[]
    if (metadata?.annotations) metadata.annotations[ADDED_ANNOTATION] = note
    expect(podsOf(admit(damaged, stored).object)).toMatchObject({ volumes: MNIST })
  })
})

test('a note that a client has damaged gives the same answer when it is asked again', () => {
  const stored = admit(manifest({ own: MNIST })).object
  const sent = JSON.parse(JSON.stringify(stored).replace('\\"inject\\"', '\\"in?ect\\"')) as K8sObject
  delete sent.metadata.annotations

  const first = admit(sent, stored).object

  expect(podsOf(first)).toEqual(NOTHING)
  expect(admit(first, stored).object).toBe(first)
})
