/** The protocol of Azure Blob Storage, for Azure and for servers that are compatible with it. */
import { parseAzureUrl } from '../../base/net/azure-address.ts'
import type { Protocol } from '../objects/object-store.ts'
import { openContainer } from './container.ts'
import { openAzureCredentials } from './credentials.ts'
import { createAzureStore } from './store.ts'

export const AZURE_PROTOCOL: Protocol = {
  forms: 'az://container/blob, or az://container/prefix/ for all below it',
  parse: parseAzureUrl,
  async open({ place, endpoint, credentials, env, retry, now }, http) {
    const source = openAzureCredentials(credentials, env, endpoint)
    const { container } = place
    return createAzureStore(openContainer({ endpoint, container, credentials: source, retry, now }, http))
  },
}
