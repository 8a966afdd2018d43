import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clusters, resourceBindings } from '../api/karmada.ts'
import { FakeApiServer } from './api-server.case.ts'
import { openClusterStore } from './cluster.ts'
import { openConnection } from './connection.ts'
import { bindingKind, clusterKind, describeObjectStore } from './store.case.ts'

describeObjectStore('the cluster store', async (observer) => {
  const server = await new FakeApiServer([resourceBindings, clusters]).listen()
  const directory = await mkdtemp(join(tmpdir(), 'lodestone-'))
  const kubeconfig = join(directory, 'config')
  await writeFile(
    kubeconfig,
    JSON.stringify({
      'current-context': 'test',
      contexts: [{ name: 'test', context: { cluster: 'test' } }],
      clusters: [{ name: 'test', cluster: { server: server.url } }],
    }),
  )
  const connection = openConnection({ kubeconfig })
  return {
    store: openClusterStore({ connection, kinds: [bindingKind, clusterKind], observer }),
    put: async (type, object) => void server.put(type, object),
    remove: async (type, namespace, name) => server.remove(type, namespace, name),
    close: async () => {
      await connection.close()
      await server.close()
      await rm(directory, { recursive: true })
    },
  }
})
