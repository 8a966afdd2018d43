import { describe, expect, test } from 'vitest'
import { makeVolume, makeVolumeManager } from '../../../../test/builders.ts'
import { makeReplica } from '../../../../test/volume-builders.ts'
import { VOLUME_SETTINGS } from '../../../../test/volume-world.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { replicaMover } from './build.ts'
import { copyOfSecret, credentialsOf, type Secret, secretFor, withCopiedSecret } from './credentials.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const KEYS = { awsAccessKeyID: base64('id'), awsSecretAccessKey: base64('key') }
const secret = (data: Record<string, string>): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'aws-creds', namespace: 'default' },
  data,
})

function moverIn(namespace: string | undefined, config: Partial<VolumeConfig> = {}) {
  const pod = replicaMover({
    manager: makeVolumeManager([{}], { uid: '4b1d' }),
    config: makeVolume(config),
    replica: makeReplica({ state: 'Queued' }),
    placement: { affinity: undefined, withoutLabels: [], notOn: [] },
    slot: 0,
    settings: { ...VOLUME_SETTINGS.movers, ...(namespace !== undefined && { namespace }) },
    networks: [],
    localRoots: [],
  })
  return { ...pod, metadata: { ...pod.metadata, uid: 'pod-uid' } }
}

describe('a mover in another namespace than its VolumeManager', () => {
  const pod = moverIn('movers')
  const name = pod.metadata.name ?? ''
  const [container] = pod.spec.containers

  test('refers to a copy with its own name, and says of which Secret', () => {
    const named = (container?.env ?? []).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? [])
    expect(named).toEqual([name, name, name, name, name])
    expect(credentialsOf(pod)).toEqual({ namespace: 'default', name: 'aws-creds' })
  })

  test('has no owner and no rights outside of its namespace', () => {
    expect(pod.metadata).toMatchObject({ namespace: 'movers' })
    expect(pod.metadata.ownerReferences).toBeUndefined()
    expect(container?.env?.map((variable) => variable.name)).not.toContain('EVENT_ABOUT')
  })

  test('gets only the keys that it reads, in a Secret that it owns', () => {
    const copy = copyOfSecret(pod, secret({ ...KEYS, endpoints: base64('http://a'), password: base64('other') }))
    expect(copy).toEqual({ data: { ...KEYS, endpoints: base64('http://a') } })
    expect(secretFor(pod, KEYS)).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name,
        namespace: 'movers',
        labels: { 'lodestone.dev/mover': 'download' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid: 'pod-uid' }],
      },
      type: 'Opaque',
      immutable: true,
      data: KEYS,
    })
  })

  test.each([
    [127 * 1024, { data: expect.anything() }],
    [127 * 1024 + 3, { refusal: 'secret "default/aws-creds": key ca.crt is longer than 127 KiB; shorten it' }],
  ])('is not created with certificates that no process can start with: %d bytes', (bytes, want) => {
    expect(copyOfSecret(pod, secret({ ...KEYS, 'ca.crt': base64('x'.repeat(bytes)) }))).toEqual(want)
  })

  test('names no owner for a dry run, before the Pod exists', () => {
    const { uid: _, ...metadata } = pod.metadata
    expect(secretFor({ ...pod, metadata }, KEYS).metadata).not.toHaveProperty('ownerReferences')
  })

  test.each([
    ['is missing', undefined, 'secret "default/aws-creds" not found; create it'],
    [
      'has no data',
      { ...secret({}), data: undefined as never },
      'secret "default/aws-creds" has no key awsAccessKeyID; add it',
    ],
    [
      'lacks a key',
      secret({ awsAccessKeyID: base64('id') }),
      'secret "default/aws-creds" has no key awsSecretAccessKey; add it',
    ],
  ])('is not created if the Secret %s', (_name, given, refusal) => {
    expect(copyOfSecret(pod, given)).toEqual({ refusal })
  })

  test('mounts an NFS export itself, since the claim is elsewhere', () => {
    const options = { server: 'nfs.example.com', path: '/exports' }
    const volumes = (namespace?: string) =>
      moverIn(namespace, { sourceType: 'NFS', accessMode: 'ReadWriteMany', options }).spec.volumes?.[0]
    expect(volumes('movers')).toEqual({ name: 'volume', nfs: options })
    expect(volumes()).toMatchObject({ persistentVolumeClaim: {} })
  })
})

test.each([
  ['beside its VolumeManager', undefined, {}],
  ['of public data', 'movers', { awsCredentialsSecretName: '' }],
])('a mover %s needs no copy', (_name, namespace, options) => {
  const config = { options: { sourceURL: 's3://lake/sales/', awsCredentialsSecretName: 'aws-creds', ...options } }
  expect(credentialsOf(moverIn(namespace, config))).toBeUndefined()
})

test('other variables stay as they are', () => {
  const env = [
    { name: 'A', value: 'a' },
    { name: 'B', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
  ]
  expect(withCopiedSecret(env, 'default', 'm')).toEqual({ env, annotations: {} })
  const withSecret = [...env, { name: 'C', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]
  expect(withCopiedSecret(withSecret, 'default', 'm').env.slice(0, 2)).toEqual(env)
})
