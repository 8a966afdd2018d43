import { describe, expect, test } from 'vitest'
import { ADDED_ANNOTATION, INJECT_LABEL, VOLUMES_ANNOTATION } from '../../../api/lodestone.ts'
import type { K8sObject } from '../../../api/meta.ts'
import { defined } from '../../../base/json.ts'
import { SHIPPED_KINDS } from '../../workload-kinds/kinds.ts'
import { ownAnnotation, parseAll, withRequests, workloadRequests } from './workload-requests.ts'

const MNIST = '{"name":"mnist"}'
const template = { spec: { containers: [{ name: 'main' }] } }
const make = (kind: string, spec: object, annotation?: string): K8sObject & { spec: object } => ({
  apiVersion: kind === 'Workflow' ? 'argoproj.io/v1alpha1' : 'apps/v1',
  kind,
  metadata: defined({ name: 'w', annotations: annotation ? { [VOLUMES_ANNOTATION]: annotation } : undefined }),
  spec,
})
const find = (object: K8sObject, stored?: K8sObject) => {
  const kind = SHIPPED_KINDS.find(object.apiVersion, object.kind)
  if (!kind) throw new Error(object.kind)
  return workloadRequests(object, kind, stored, undefined)
}
const requests = (object: K8sObject) => find(object).requests

describe('a request', () => {
  test('of the workload comes before that of its owner', () => {
    expect(ownAnnotation(make('Deployment', {}, MNIST), 'other')).toBe(MNIST)
    expect(ownAnnotation(make('Deployment', {}), 'other')).toBe('other')
  })

  test('of the workload is for each template, and of a template for its pods', () => {
    const inTemplate = { ...template, metadata: { annotations: { [VOLUMES_ANNOTATION]: 'x' } } }
    const found = [
      requests(make('Deployment', { template }, MNIST)),
      requests(make('Deployment', { template: inTemplate }, MNIST)),
    ]
    expect(found.flat().map(({ annotation, writtenAt }) => [annotation, writtenAt])).toEqual([
      [MNIST, 'metadata.annotations'],
      ['x', 'spec.template.metadata.annotations'],
    ])
  })

  test('is written once, where a kind has a place for all pods', () => {
    const found = requests(make('Workflow', { templates: [{ metadata: {} }] }, MNIST))
    expect(found.map(({ place, isWritten }) => [place.path, isWritten])).toEqual([
      ['spec.templates[0].metadata', false],
      ['spec.podMetadata', true],
    ])
  })

  test('is parsed once for all templates', () => {
    const [first, second] = parseAll(requests(make('Workflow', { templates: [{ metadata: {} }] }, MNIST)))
    expect(first?.parsed).toBe(second?.parsed)
  })

  test('that is written already changes nothing', () => {
    const object = make('Deployment', { template }, MNIST)
    const changed = withRequests(object, find(object))
    const note = '{"inject":true,"volumes":"1mmju6wv3b6m9"}'
    const metadata = {
      labels: { [INJECT_LABEL]: 'true' },
      annotations: { [VOLUMES_ANNOTATION]: MNIST, [ADDED_ANNOTATION]: note },
    }
    expect(changed).toEqual(make('Deployment', { template: { ...template, metadata } }, MNIST))
    expect(withRequests(changed, find(changed, object))).toBe(changed)
  })
})
