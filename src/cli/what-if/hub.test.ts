/** What `what-if` reads from an API server. */
import { beforeEach, expect, test } from 'vitest'
import { makeClaim, makeCluster, makeDeployment, makeObject, makePolicy, makeSource } from '../../../test/builders.ts'
import { secrets } from '../../api/dependencies.ts'
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { type FakeApiServer, startFakeApiServer } from '../../store/cluster/api-server.fake.ts'
import { cachedKinds } from '../../store/kinds/cached-kinds.ts'
import { makeKubeconfig, runWords } from '../cli.fake.ts'

const TYPES = cachedKinds.map(({ type }) => type as ResourceType)

let server: FakeApiServer

beforeEach(async () => {
  server = await startFakeApiServer(TYPES)
  const objects: K8sObject[] = [makeClaim(), makeSource(), makePolicy(), makeDeployment()]
  for (const object of [...objects, makeCluster('member2'), makeObject('v1', 'Secret', 'keys')]) {
    const type = TYPES.find(({ kind }) => kind === object.kind)
    if (type) server.put(type, object)
  }
})

const whatIf = (...words: string[]) =>
  runWords(['what-if', ...words, '-n', 'default', '--kubeconfig', makeKubeconfig(server.url)])

test('a question needs no right to list Secrets', async () => {
  server.permits = ({ path }) => !path.endsWith(`/${secrets.plural}`)
  const { status, stdout, stderr } = await whatIf('--cluster-lost', 'member2')
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(stdout).toContain('What if member2 is lost?')
})

test('a Secret without a binding is not said to be absent', async () => {
  const { status, stderr } = await whatIf('--delete', 'secret/keys')
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'lodestone what-if: no binding of Secret keys in namespace default\n',
  })
})
