import { expect, test } from 'vitest'
import { openAzureCredentials } from './credentials.ts'

const ENDPOINT = 'https://sales.blob.core.windows.net'
const open = (env: Record<string, string>) => openAzureCredentials(undefined, env, ENDPOINT)()

test.each(['\n', '\r\n', ' '])('values of a Secret that end with %j are those without it', async (end) => {
  const account = { AZURE_STORAGE_ACCOUNT: `sales${end}` }
  await expect(open({ ...account, AZURE_STORAGE_SAS_TOKEN: `sv=1&sig=ab${end}` })).resolves.toEqual({
    kind: 'sas',
    query: [
      ['sv', '1'],
      ['sig', 'ab'],
    ],
  })
  await expect(open({ ...account, AZURE_STORAGE_KEY: `YWI=${end}` })).resolves.toMatchObject({ account: 'sales' })
})

test('values of white space are none', async () => {
  await expect(open({ AZURE_STORAGE_ACCOUNT: '\n', AZURE_STORAGE_KEY: '' })).resolves.toBeUndefined()
})
