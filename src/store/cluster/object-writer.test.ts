import { expect, test } from 'vitest'
import { clusters, resourceBindings } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { buildBinding } from '../objects.fake.ts'
import {
  isMissingField,
  MissingPrerequisiteError,
  NamespaceTerminatingError,
  NotFoundError,
  rejectionMessage,
} from '../store.ts'
import { connectToFake } from './api-connection.fake.ts'
import { json } from './api-responses.fake.ts'
import { createObject, deleteObject, patchObject, updateObject } from './object-writer.ts'

const open = () => connectToFake([resourceBindings, clusters])

const binding = buildBinding('web')
const existing: typeof binding = { ...binding, metadata: { ...binding.metadata, resourceVersion: '1' } }
const reference = { namespace: 'shop', name: 'web' }

test('a create in a namespace that does not exist names the namespace', async () => {
  const { server, connection } = await open()
  server.removeNamespace('shop')
  const create = createObject(connection, resourceBindings, binding)
  await expect(create).rejects.toThrow(MissingPrerequisiteError)
  await expect(create).rejects.toThrow('namespace "shop" does not exist; create it')
})

test.each([
  { name: 'a namespace that is being deleted', causes: [{ reason: 'NamespaceTerminating' }], isTerminating: true },
  { name: 'a webhook that only says so', causes: [], isTerminating: false },
  { name: 'a Status of another form', causes: ['NamespaceTerminating', null], isTerminating: false },
])('a create that $name rejects is told by its cause', async ({ causes, isTerminating }) => {
  const { server, connection } = await open()
  const message = 'namespace shop is being terminated'
  server.misbehave(
    ({ method }) => method === 'POST',
    json(403, { kind: 'Status', code: 403, reason: 'Forbidden', message, details: { causes } }),
  )
  const error: unknown = await createObject(connection, resourceBindings, binding).catch((thrown: unknown) => thrown)
  expect(error instanceof NamespaceTerminatingError).toBe(isTerminating)
  expect(rejectionMessage(error)).toContain(message)
})

test.each([
  { name: 'a missing field', causes: [{ reason: 'FieldValueRequired', field: 'spec.locality' }], want: true },
  { name: 'a wrong value', causes: [{ reason: 'FieldValueInvalid', field: 'spec.locality' }], want: false },
  { name: 'a policy that says so', causes: [{ message: 'spec.locality: Required value' }], want: false },
])('a create that is invalid because of $name is told by its cause', async ({ causes, want }) => {
  const { server, connection } = await open()
  server.misbehave(
    ({ method }) => method === 'POST',
    json(422, { kind: 'Status', code: 422, reason: 'Invalid', message: 'is invalid', details: { causes } }),
  )

  const error: unknown = await createObject(connection, resourceBindings, binding).catch((thrown: unknown) => thrown)

  expect(isMissingField(error)).toBe(want)
})

const NOT_SERVED = 'does not serve ResourceBinding in work.karmada.io/v1alpha2; install its CustomResourceDefinition'

test.each([
  { write: 'create', run: createObject, object: binding },
  { write: 'update', run: updateObject, object: existing },
])('a $write of a kind whose CRD is missing names the kind', async ({ run, object }) => {
  const { server, connection } = await open()
  server.serve(resourceBindings, false)
  const written = run<K8sObject>(connection, resourceBindings, object)
  await expect(written).rejects.toThrow(MissingPrerequisiteError)
  await expect(written).rejects.toThrow(NOT_SERVED)
})

test('a patch of a status whose CRD is missing names the kind', async () => {
  const { server, connection } = await open()
  server.serve(resourceBindings, false)
  const patched = patchObject(connection, resourceBindings, reference, { status: {} }, { subresource: 'status' })
  await expect(patched).rejects.toThrow(NOT_SERVED.replace('ResourceBinding', 'the status of ResourceBinding'))
})

test('a patch and an update of a deleted object throw NotFoundError', async () => {
  const { connection } = await open()
  await expect(patchObject(connection, resourceBindings, reference, {})).rejects.toThrow(NotFoundError)
  await expect(updateObject(connection, resourceBindings, existing)).rejects.toThrow(NotFoundError)
})

test('a deletion succeeds when the object or its kind does not exist', async () => {
  const { server, connection } = await open()
  await deleteObject(connection, resourceBindings, existing)
  server.serve(resourceBindings, false)
  await deleteObject(connection, resourceBindings, existing)
  expect(server.requests.map(({ method }) => method)).toEqual(['DELETE', 'DELETE'])
})

test('a server-side apply takes the fields from other managers', async () => {
  const { server, connection } = await open()
  await createObject(connection, resourceBindings, binding)
  const options = { subresource: 'status', fieldManager: 'kueue-admission' } as const
  // The fake API server knows merge patches alone.
  await expect(patchObject(connection, resourceBindings, reference, { status: {} }, options)).rejects.toThrow('415')
  const { path, query } = server.requests.find(({ method }) => method === 'PATCH') ?? {}
  expect(path).toMatch(/\/resourcebindings\/web\/status$/)
  expect(Object.fromEntries(query ?? [])).toEqual({ fieldManager: 'kueue-admission', force: 'true' })
})
