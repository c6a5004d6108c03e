-- Count anew what is relevant, and what is in which language.
DELETE FROM counters WHERE name IN ('relevant', 'tongue');
INSERT INTO counters SELECT 'tongue', tongue, count(*) FROM visits
  WHERE has_page AND typeof(tongue) = 'text' AND tongue != ''
  AND tongue NOT GLOB '*[^a-zA-Z0-9-]*' GROUP BY tongue;
INSERT INTO counters SELECT 'relevant', '', count(*) FROM visits WHERE relevant;
INSERT INTO counters SELECT 'relevant', generation, count(*) FROM visits
  WHERE relevant AND typeof(generation) = 'integer' GROUP BY generation;
UPDATE hosts SET relevant =
  (SELECT count(*) FROM visits WHERE visits.host = hosts.id AND visits.relevant);
DELETE FROM curve;
