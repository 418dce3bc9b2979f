/** Words of an invented country. The places, facilities and people do not exist. */

export interface Indicator {
  name: string
  /** The value that a facility of medium size reports in an ordinary month. */
  usual: number
  /** The increase in the rainy season over the dry season, as a share of `usual`. */
  season: number
}

export const regions = [
  'Haute-Lémare',
  'Basse-Lémare',
  'Kivaro',
  'São Belmiro',
  'Ndalu Coast',
  'Østerlund',
  'Tamarö',
  'Région des Îles',
]

export const districts = ['Nord', 'South Bank', 'Val-d’Orée', 'Old Harbour', 'Três Pontes', 'Mbeyo', 'Sainte-Aude']

export const facilityKinds = ['Health Centre', 'Clinic', 'Centre de santé', 'Posto de saúde', 'District Hospital']

/** Names as in real registers: with commas, quotation marks and accents. */
export const facilityNames = [
  'Kilomètre 12',
  'Four Winds, North',
  'The "Blue Gate"',
  'Água Clara',
  'Market Street',
  'Saint-Éloi, annexe',
  'Upper Ferry',
  'L’Espérance',
  'Lake View "B"',
  'Nyota, 2nd floor',
]

export const indicators: Indicator[] = [
  { name: 'Outpatient visits', usual: 820, season: 0.2 },
  { name: 'Malaria cases confirmed', usual: 96, season: 1.6 },
  { name: 'Malaria tests done', usual: 240, season: 1.2 },
  { name: 'Diarrhoea under 5', usual: 38, season: 0.9 },
  { name: 'Antenatal first visits', usual: 44, season: 0 },
  { name: 'Deliveries in facility', usual: 27, season: 0 },
  { name: 'Measles 1st dose given', usual: 41, season: 0.1 },
  { name: 'BCG doses given', usual: 46, season: 0 },
  { name: 'Vitamin A given, 6–59 months', usual: 130, season: 0.3 },
  { name: 'Tuberculosis cases notified', usual: 3, season: 0 },
  { name: 'Stock-out days, ORS', usual: 2, season: 0.5 },
  { name: 'Fuel used (litres)', usual: 61, season: 0.4 },
]

/** Comments of reporters, as they write them. */
export const comments = [
  'Register wet after the rains;\npage 4 cannot be read',
  'Data corrected after review, see paper form',
  'Réseau coupé du 3 au 9, saisie en retard',
  'Counted twice? Please check "new cases"',
  'Two staff on leave',
  'Campaign month\nFigures include outreach, 3 sites',
  'Falta o registo do turno da noite',
  'Stock-out of test kits, 6 days',
]
