/** Admission of VolumeManagers: rejects invalid and forbidden objects, with all errors in one response. */
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { admitVolumeManager } from '../core/volume-manager/rules/validate.ts'
import { defineWebhook } from './define.ts'

export const volumeManager = defineWebhook({
  name: 'volume-manager',
  type: 'validating',
  resources: [volumeManagers],
  operations: ['CREATE', 'UPDATE'],
  // `Ignore`, since the loop performs the same validation and reports the errors in the status.
  failurePolicy: 'Ignore',
  gather: ({ object, oldObject }, { volumeLimits }) => ({
    manager: object as VolumeManager,
    stored: oldObject as VolumeManager | undefined,
    limits: volumeLimits,
  }),
  decide: ({ manager, stored, limits }) => admitVolumeManager(manager, stored, limits),
})
