/** The run was taken over, cancelled or already finished by another attempt. */
export class LostRun extends Error {
  override readonly name = 'LostRun'
}
