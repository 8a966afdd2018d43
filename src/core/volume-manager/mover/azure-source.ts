/** The source of a mover in Azure Blob Storage. */
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import { azureUrl, parseBlobUrl } from '../../../base/azure-address.ts'
import { prefixIfDivided } from '../rules/distribution.ts'
import type { MoverSource } from './mover-source.ts'
import { caVariable, endpointsVariable, secretVariable } from './secret-variables.ts'

/**
 * The source of a volume. The Secret has the keys of the Blob CSI driver. The name of the account is required; the mover checks that there is
 * a SAS token or a key.
 */
export function azureSource(config: VolumeConfig): MoverSource | undefined {
  const { options = {}, mover } = config
  const { sourceURL = '', endpointURL, azureCredentialsSecretName: secret, verify } = options
  const parsed = parseBlobUrl(sourceURL, endpointURL)
  if (!parsed) return undefined
  const optional = { optional: true } as const
  return {
    // A mover of another image gets the URL as the user wrote it.
    url: mover?.image === undefined ? prefixIfDivided(azureUrl(parsed), config) : sourceURL,
    endpoint: parsed.endpoint,
    region: undefined,
    verify: verify || undefined,
    env: secret
      ? [
          secretVariable('AZURE_STORAGE_ACCOUNT', secret, 'azurestorageaccountname'),
          secretVariable('AZURE_STORAGE_SAS_TOKEN', secret, 'azurestorageaccountsastoken', optional),
          secretVariable('AZURE_STORAGE_KEY', secret, 'azurestorageaccountkey', optional),
          endpointsVariable(secret, optional),
          caVariable(secret),
        ]
      : [],
    requests: [],
  }
}
